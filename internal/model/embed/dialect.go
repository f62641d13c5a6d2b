package embed

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"strings"

	"github.com/ragdhq/ragd/internal/model/endpoint"
)

// dialect describes the requests for embeddings of a kind of endpoint.
type dialect struct {
	maxTexts int // in one request
	// shortens reports whether the API makes shorter vectors on request. Otherwise the
	// vectors of a Matryoshka model are cut here.
	shortens bool
	// request returns the path and the body of a request.
	request func(job job) (path string, body any)
	// decode returns the n vectors of an answer in the order of the texts, and the tokens that
	// it says they had, 0 if it does not. Errors: *endpoint.BadAnswerError.
	decode func(answer json.RawMessage, n int) (vectors [][]float32, tokens int, err error)
}

var dialects = map[endpoint.Kind]dialect{
	// Sources: the API references of the providers; the limits are theirs where they are
	// smaller than maxBatchTexts.
	endpoint.OpenAI: {maxBatchTexts, false, askOpenAI, decodeList},
	endpoint.Cohere: {96, true, askCohere, decodeCohere},
	endpoint.Voyage: {maxBatchTexts, true, askVoyage, decodeList},
	endpoint.Jina:   {maxBatchTexts, true, askJina, decodeList},
	endpoint.TEI:    {32, false, askTEI, decodeBare},
	endpoint.Ollama: {maxBatchTexts, false, askOllama, decodeField},
	endpoint.Gemini: {100, true, askGemini, decodeGemini},
}

// either returns one of two values by the purpose of a job.
func (j job) either(forQuestion, forDocument string) string {
	if j.purpose == question {
		return forQuestion
	}
	return forDocument
}

func askOpenAI(j job) (string, any) {
	return "/embeddings", struct {
		Input []string `json:"input"`
		Model string   `json:"model"`
		// EncodingFormat base64 takes a quarter of the bytes of decimal numbers. Servers
		// that do not support it answer with numbers, which are decoded too.
		EncodingFormat string `json:"encoding_format"`
		Dimensions     int    `json:"dimensions,omitempty"`
	}{j.texts, j.model, "base64", j.dimension}
}

func askCohere(j job) (string, any) {
	return "/v2/embed", struct {
		Model           string   `json:"model"`
		Texts           []string `json:"texts"`
		InputType       string   `json:"input_type"`
		EmbeddingTypes  []string `json:"embedding_types"`
		OutputDimension int      `json:"output_dimension,omitempty"`
	}{j.model, j.texts, j.either("search_query", "search_document"), []string{"float"}, j.dimension}
}

func askVoyage(j job) (string, any) {
	return "/v1/embeddings", struct {
		Model           string   `json:"model"`
		Input           []string `json:"input"`
		InputType       string   `json:"input_type"`
		EncodingFormat  string   `json:"encoding_format"`
		OutputDimension int      `json:"output_dimension,omitempty"`
	}{j.model, j.texts, j.either("query", "document"), "base64", j.dimension}
}

func askJina(j job) (string, any) {
	body := struct {
		Model      string   `json:"model"`
		Input      []string `json:"input"`
		Task       string   `json:"task,omitempty"`
		Dimensions int      `json:"dimensions,omitempty"`
	}{j.model, j.texts, j.either("retrieval.query", "retrieval.passage"), j.dimension}
	switch {
	case strings.Contains(j.model, "-v2-") || strings.HasPrefix(j.model, "jina-clip-v1"):
		body.Task = "" // these models have no tasks
	case strings.HasPrefix(j.model, "jina-code-"):
		body.Task = j.either("nl2code.query", "nl2code.passage")
	}
	return "/v1/embeddings", body
}

func askTEI(j job) (string, any) {
	return "/embed", struct {
		Inputs    []string `json:"inputs"`
		Normalize bool     `json:"normalize"`
	}{j.texts, true}
}

func askOllama(j job) (string, any) {
	return "/api/embed", struct {
		Model string   `json:"model"`
		Input []string `json:"input"`
	}{j.model, j.texts}
}

func askGemini(j job) (string, any) {
	type part struct {
		Text string `json:"text"`
	}
	type content struct {
		Parts []part `json:"parts"`
	}
	type request struct {
		Model                string  `json:"model"`
		Content              content `json:"content"`
		TaskType             string  `json:"taskType"`
		OutputDimensionality int     `json:"outputDimensionality,omitempty"`
	}
	name := "models/" + strings.TrimPrefix(j.model, "models/")
	requests := make([]request, len(j.texts))
	for i, text := range j.texts {
		requests[i] = request{name, content{[]part{{text}}}, j.either("RETRIEVAL_QUERY", "RETRIEVAL_DOCUMENT"), j.dimension}
	}
	return "/v1beta/" + name + ":batchEmbedContents", map[string]any{"requests": requests}
}

// decodeList decodes {"data": [{"index", "embedding"}]}, in any order, with decimal or
// base64 vectors.
func decodeList(raw json.RawMessage, n int) ([][]float32, int, error) {
	var answer struct {
		Data []struct {
			Index     *int            `json:"index"`
			Embedding json.RawMessage `json:"embedding"`
		} `json:"data"`
		Usage json.RawMessage `json:"usage"`
	}
	if json.Unmarshal(raw, &answer) != nil || len(answer.Data) != n {
		return nil, 0, endpoint.BadAnswer("%d vectors for %d texts", len(answer.Data), n)
	}
	vectors := make([][]float32, n)
	for at, item := range answer.Data {
		if item.Index != nil {
			at = *item.Index
		}
		if at < 0 || at >= n || vectors[at] != nil {
			return nil, 0, endpoint.BadAnswer("index %d twice or out of range for %d texts", at, n)
		}
		vector, err := decodeVector(item.Embedding)
		if err != nil {
			return nil, 0, err
		}
		vectors[at] = vector
	}
	return vectors, tokensIn(answer.Usage), nil
}

// decodeCohere decodes {"embeddings": {"float": [[...]]}}.
func decodeCohere(raw json.RawMessage, n int) ([][]float32, int, error) {
	var answer struct {
		Embeddings struct {
			Float [][]float32 `json:"float"`
		} `json:"embeddings"`
		Meta json.RawMessage `json:"meta"`
	}
	err := json.Unmarshal(raw, &answer)
	return inOrder(err, answer.Embeddings.Float, n, tokensIn(answer.Meta))
}

// decodeField decodes {"embeddings": [[...]]}.
func decodeField(raw json.RawMessage, n int) ([][]float32, int, error) {
	var answer struct {
		Embeddings [][]float32     `json:"embeddings"`
		Tokens     json.RawMessage `json:"prompt_eval_count"`
	}
	err := json.Unmarshal(raw, &answer)
	return inOrder(err, answer.Embeddings, n, tokensIn(answer.Tokens))
}

// decodeBare decodes [[...]].
func decodeBare(raw json.RawMessage, n int) ([][]float32, int, error) {
	var answer [][]float32
	return inOrder(json.Unmarshal(raw, &answer), answer, n, 0)
}

// decodeGemini decodes {"embeddings": [{"values": [...]}]}. It scales the vectors to unit
// length, which those of a smaller dimension do not have.
func decodeGemini(raw json.RawMessage, n int) ([][]float32, int, error) {
	var answer struct {
		Embeddings []struct {
			Values []float32 `json:"values"`
		} `json:"embeddings"`
	}
	err := json.Unmarshal(raw, &answer)
	vectors := make([][]float32, len(answer.Embeddings))
	for i, e := range answer.Embeddings {
		vectors[i] = e.Values
		normalize(e.Values)
	}
	return inOrder(err, vectors, n, 0)
}

// inOrder returns the vectors and the tokens if decoding succeeded and there are n, none of them empty.
func inOrder(err error, vectors [][]float32, n, tokens int) ([][]float32, int, error) {
	if err != nil {
		return nil, 0, endpoint.BadAnswer("an answer without vectors of numbers")
	}
	if len(vectors) != n {
		return nil, 0, endpoint.BadAnswer("%d vectors for %d texts", len(vectors), n)
	}
	for _, vector := range vectors {
		if len(vector) == 0 {
			return nil, 0, endpoint.BadAnswer("an empty vector")
		}
	}
	return vectors, tokens, nil
}

// tokensIn returns the number of tokens in what an endpoint says of a request: a number,
// {"total_tokens"} or {"billed_units": {"input_tokens"}}. It returns 0 for anything else, so that
// vectors are not lost for it.
func tokensIn(raw json.RawMessage) int {
	var said float64
	if json.Unmarshal(raw, &said) == nil {
		return int(min(max(said, 0), maxReportedTokens))
	}
	var named struct {
		Total  json.RawMessage `json:"total_tokens"`
		Billed json.RawMessage `json:"billed_units"`
		Input  json.RawMessage `json:"input_tokens"`
	}
	if json.Unmarshal(raw, &named) != nil {
		return 0
	}
	for _, inner := range []json.RawMessage{named.Total, named.Billed, named.Input} {
		if len(inner) > 0 {
			return tokensIn(inner)
		}
	}
	return 0
}

// decodeVector decodes an array of numbers, or little-endian float32 in base64.
func decodeVector(raw json.RawMessage) ([]float32, error) {
	if len(raw) > 0 && raw[0] == '"' {
		bytes, err := base64.StdEncoding.DecodeString(string(raw[1 : len(raw)-1]))
		if err != nil || len(bytes) == 0 || len(bytes)%4 != 0 {
			return nil, endpoint.BadAnswer("a vector that is not base64 of float32 values")
		}
		vector := make([]float32, len(bytes)/4)
		for i := range vector {
			vector[i] = math.Float32frombits(binary.LittleEndian.Uint32(bytes[4*i:]))
		}
		return vector, nil
	}
	var vector []float32
	if json.Unmarshal(raw, &vector) != nil || len(vector) == 0 {
		return nil, endpoint.BadAnswer("a vector that is not an array of numbers")
	}
	return vector, nil
}

// normalize scales a vector to unit length. It leaves a vector of zeros.
func normalize(vector []float32) {
	var squares float64
	for _, x := range vector {
		squares += float64(x) * float64(x)
	}
	if squares == 0 || math.IsInf(squares, 0) || math.IsNaN(squares) {
		return
	}
	scale := 1 / math.Sqrt(squares)
	for i, x := range vector {
		vector[i] = float32(float64(x) * scale)
	}
}
