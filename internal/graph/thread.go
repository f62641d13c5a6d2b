package graph

import "github.com/ragdhq/ragd/internal/graph/names"

// emailHeaders returns what the metadata field "file" says of an email: its id,
// and the ids of the messages before it in its thread. Values of types that
// ingest does not write are ignored.
func emailHeaders(metadata map[string]any) (id string, earlier []string) {
	file, _ := metadata["file"].(map[string]any)
	id, _ = file["messageId"].(string)
	if answered, ok := file["inReplyTo"].(string); ok {
		earlier = append(earlier, answered)
	}
	switch references := file["references"].(type) {
	case []string:
		earlier = append(earlier, references...)
	case []any: // as decoded from the database
		for _, reference := range references {
			if text, ok := reference.(string); ok {
				earlier = append(earlier, text)
			}
		}
	}
	return id, earlier
}

// threadMentions returns, for the first chunks of emails, the keys of the messages
// that they answer.
func threadMentions(documents []Document) map[ChunkRef][]names.Key {
	mentions := map[ChunkRef][]names.Key{}
	for _, d := range documents {
		_, earlier := emailHeaders(d.Metadata)
		for _, id := range earlier {
			if key, ok := names.KeyOf(id); ok {
				first := ChunkRef{d.DocumentID, 0}
				mentions[first] = append(mentions[first], key)
			}
		}
	}
	return mentions
}
