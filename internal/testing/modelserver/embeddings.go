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
		if n, ok := r.Body["dimensions"].(float64); ok {
			v = vector(text, int(n))
		}
		var embedding any = v
		if r.Body["encoding_format"] == "base64" {
			embedding = encode(v)
		}
		data = append(data, map[string]any{"object": "embedding", "index": i, "embedding": embedding})
	}
	return map[string]any{"object": "list", "model": r.Body["model"], "data": data, "usage": usage(inputs...)}
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
