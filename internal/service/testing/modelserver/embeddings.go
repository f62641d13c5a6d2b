package modelserver

import (
	"encoding/base64"
	"encoding/binary"
	"hash/fnv"
	"math"
)

// embeddings answers POST /v1/embeddings.
func (s *Server) embeddings(r Request) any {
	var data []map[string]any
	inputs := texts(r.Body["input"])
	for i, text := range inputs {
		v := s.Embed(text)
		for _, field := range []string{"dimensions", "output_dimension"} { // OpenAI and Jina, Voyage
			if n, ok := r.Body[field].(float64); ok {
				v = vector(text, int(n))
			}
		}
		var embedding any = v
		if r.Body["encoding_format"] == "base64" {
			embedding = encode(v)
		}
		data = append(data, map[string]any{"object": "embedding", "index": i, "embedding": embedding})
	}
	return map[string]any{"object": "list", "model": r.Body["model"], "data": data, "usage": usage(inputs...)}
}

// embedCohere answers POST /v2/embed.
func (s *Server) embedCohere(r Request) any {
	inputs := texts(r.Body["texts"])
	vectors := make([][]float32, len(inputs))
	for i, text := range inputs {
		vectors[i] = s.Embed(text)
		if n, ok := r.Body["output_dimension"].(float64); ok {
			vectors[i] = vector(text, int(n))
		}
	}
	return map[string]any{"id": "embed-1", "texts": inputs, "embeddings": map[string]any{"float": vectors}, "meta": map[string]any{"billed_units": map[string]any{"input_tokens": 1}}}
}

// embedTEI answers POST /embed of text-embeddings-inference.
func (s *Server) embedTEI(r Request) any { return s.all(texts(r.Body["inputs"])) }

// embedOllama answers POST /api/embed.
func (s *Server) embedOllama(r Request) any {
	inputs := texts(r.Body["input"])
	return map[string]any{"model": r.Body["model"], "embeddings": s.all(inputs), "prompt_eval_count": len(inputs)}
}

func (s *Server) all(inputs []string) [][]float32 {
	vectors := make([][]float32, len(inputs))
	for i, text := range inputs {
		vectors[i] = s.Embed(text)
	}
	return vectors
}

// embedGemini answers POST /v1beta/models/{model}:batchEmbedContents. As Gemini, it does not
// scale vectors of another dimension to unit length.
func (s *Server) embedGemini(r Request) any {
	requests, _ := r.Body["requests"].([]any)
	embeddings := make([]any, len(requests))
	for i, item := range requests {
		request, _ := item.(map[string]any)
		content, _ := request["content"].(map[string]any)
		parts, _ := content["parts"].([]any)
		part, _ := parts[0].(map[string]any)
		text, _ := part["text"].(string)
		v := s.Embed(text)
		if n, ok := request["outputDimensionality"].(float64); ok {
			v = v[:int(n)]
		}
		embeddings[i] = map[string]any{"values": v}
	}
	return map[string]any{"embeddings": embeddings}
}

// models answers the lists of models of all kinds.
func (s *Server) models(r Request) any {
	if r.Path == "/info" {
		return map[string]any{"model_id": "m-embed", "max_input_length": 512, "model_type": map[string]any{"embedding": map[string]any{"pooling": "mean"}}}
	}
	names := []string{"m-embed", "m-chat"}
	var data, named []any
	for _, name := range names {
		data = append(data, map[string]any{"id": name, "object": "model"})
		named = append(named, map[string]any{"name": name})
	}
	if r.Path == "/v1/models" && r.Query == "" { // Cohere asks for a size of the page
		return map[string]any{"object": "list", "data": data}
	}
	return map[string]any{"models": named}
}

func texts(v any) []string {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	out := make([]string, len(list))
	for i, x := range list {
		out[i], _ = x.(string)
	}
	return out
}

// vector returns a unit vector that depends on the text alone.
func vector(text string, dimension int) []float32 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text))
	state := h.Sum64()
	v := make([]float32, dimension)
	var squares float64
	for i := range v {
		state = state*6364136223846793005 + 1442695040888963407
		v[i] = float32(int32(state>>32)) / (1 << 31)
		squares += float64(v[i]) * float64(v[i])
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(squares))
	}
	return v
}

func encode(v []float32) string {
	var bytes []byte
	for _, x := range v {
		bytes = binary.LittleEndian.AppendUint32(bytes, math.Float32bits(x))
	}
	return base64.StdEncoding.EncodeToString(bytes)
}

func usage(texts ...string) map[string]any {
	tokens := 0
	for _, t := range texts {
		tokens += (len(t) + 3) / 4
	}
	return map[string]any{"prompt_tokens": tokens, "total_tokens": tokens}
}
