package openai

import "maps"

// event returns an event of the stream, with its number.
func (f *response) event(kind string, fields map[string]any) event {
	fields = maps.Clone(fields)
	fields["type"], fields["sequence_number"] = kind, f.sequence
	f.sequence++
	return event{name: kind, data: fields}
}

// state returns an event with the response as it is now.
func (f *response) state(kind string) event {
	return f.event(kind, map[string]any{"response": f.responseBody})
}

func (f *response) opening() []event {
	events := []event{f.state("response.created"), f.state("response.in_progress")}
	if !f.searches {
		return events
	}
	item := searchItem()
	at := map[string]any{"output_index": 0, "item_id": item.ID}
	begun := item
	begun.Status = "in_progress"
	f.Output = append(f.Output, item)
	return append(events,
		f.event("response.output_item.added", map[string]any{"output_index": 0, "item": begun}),
		f.event("response.file_search_call.in_progress", at), f.event("response.file_search_call.searching", at), f.event("response.file_search_call.completed", at),
		f.event("response.output_item.done", map[string]any{"output_index": 0, "item": item}))
}

// inMessage returns fields that name the text of the answer.
func (f *response) inMessage(more map[string]any) map[string]any {
	fields := map[string]any{"item_id": f.messageID, "output_index": len(f.Output), "content_index": 0}
	maps.Copy(fields, more)
	return fields
}

func (f *response) piece(text string) (events []event) {
	if f.messageID == "" {
		events = f.beginMessage()
	}
	f.sent.WriteString(text)
	return append(events, f.event("response.output_text.delta", f.inMessage(map[string]any{"delta": text, "logprobs": []any{}})))
}

func (f *response) beginMessage() []event {
	f.messageID = newID("msg_")
	return []event{
		f.event("response.output_item.added", map[string]any{"output_index": len(f.Output), "item": messageItem(f.messageID, "in_progress")}),
		f.event("response.content_part.added", f.inMessage(map[string]any{"part": textPart("", nil)})),
	}
}

func (f *response) closing(said *utterance) (events []event) {
	if f.messageID == "" && len(said.calls) == 0 {
		events = f.beginMessage()
	}
	if f.messageID != "" {
		events = append(events, f.endMessage(said)...)
	}
	for _, call := range said.calls {
		index, item := len(f.Output), callItem(call, "completed")
		begun := item
		begun.Status, begun.Arguments = "in_progress", ""
		at := map[string]any{"item_id": item.ID, "output_index": index}
		events = append(events,
			f.event("response.output_item.added", map[string]any{"output_index": index, "item": begun}),
			f.event("response.function_call_arguments.delta", with(at, "delta", call.Arguments)),
			f.event("response.function_call_arguments.done", with(with(at, "arguments", call.Arguments), "name", call.Name)),
			f.event("response.output_item.done", map[string]any{"output_index": index, "item": item}))
		f.Output = append(f.Output, item)
	}
	f.finish(said)
	return append(events, f.state("response.completed"))
}

// endMessage returns the events that end the text of the answer.
func (f *response) endMessage(said *utterance) (events []event) {
	part := textPart(f.sent.String(), said.annotations)
	for i, a := range part.Annotations {
		events = append(events, f.event("response.output_text.annotation.added", f.inMessage(map[string]any{"annotation_index": i, "annotation": a})))
	}
	item := messageItem(f.messageID, "completed", part)
	events = append(events,
		f.event("response.output_text.done", f.inMessage(map[string]any{"text": part.Text, "logprobs": []any{}})),
		f.event("response.content_part.done", f.inMessage(map[string]any{"part": part})),
		f.event("response.output_item.done", map[string]any{"output_index": len(f.Output), "item": item}))
	f.Output = append(f.Output, item)
	return events
}

func with(fields map[string]any, name string, value any) map[string]any {
	more := maps.Clone(fields)
	more[name] = value
	return more
}

func (f *response) failure(e wireError) []event {
	f.Status, f.Error = "failed", &responseError{Code: "server_error", Message: e.Message}
	if e.Code != nil {
		f.Error.Code = *e.Code
	}
	return []event{f.state("response.failed")}
}
