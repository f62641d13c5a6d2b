package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/ragdhq/ragd/internal/service/testing/dataset/synthetic"
)

// weaviate is a Weaviate server of its own, on a folder of its own, which is called over gRPC as its client libraries do.
type weaviate struct {
	command *exec.Cmd
	dir     string
	url     string // REST
	search  *connect.Client[[]byte, []byte]
	load    *connect.Client[[]byte, []byte]
}

const weaviateClass = "Bench"

// openWeaviate starts the program with HNSW as ragd builds it: 16 links, 64 candidates. Its own search width stays.
func openWeaviate(ctx context.Context, program string) (w *weaviate, err error) {
	dir, err := os.MkdirTemp("", "weaviate-")
	if err != nil {
		return nil, err
	}
	w = &weaviate{dir: dir}
	defer func() {
		if err != nil {
			w.stop()
		}
	}()
	var ports [6]string
	for n := range ports {
		if ports[n], err = freePort(ctx); err != nil {
			return nil, err
		}
	}
	w.url = "http://127.0.0.1:" + ports[0]
	w.command = exec.CommandContext(ctx, program, "--host", "127.0.0.1", "--port", ports[0], "--scheme", "http")
	w.command.Env = append(os.Environ(), "PERSISTENCE_DATA_PATH="+dir, "AUTHENTICATION_ANONYMOUS_ACCESS_ENABLED=true", "DEFAULT_VECTORIZER_MODULE=none",
		"DISABLE_TELEMETRY=true", "LOG_LEVEL=error", "CLUSTER_HOSTNAME=node1", "CLUSTER_ADVERTISE_ADDR=127.0.0.1", "GRPC_PORT="+ports[1],
		"CLUSTER_GOSSIP_BIND_PORT="+ports[2], "CLUSTER_DATA_BIND_PORT="+ports[3], "RAFT_PORT="+ports[4], "RAFT_INTERNAL_RPC_PORT="+ports[5],
		"RAFT_BOOTSTRAP_EXPECT=1", "GO_PROFILING_DISABLE=true", "PROMETHEUS_MONITORING_ENABLED=false")
	w.command.Stderr = os.Stderr
	if err := w.command.Start(); err != nil {
		return nil, err
	}
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	connections, service := &http.Client{Transport: &http.Transport{Protocols: protocols}}, "http://127.0.0.1:"+ports[1]+"/weaviate.v1.Weaviate/"
	options := connect.WithClientOptions(connect.WithGRPC(), connect.WithCodec(rawCodec{}))
	w.search = connect.NewClient[[]byte, []byte](connections, service+"Search", options)
	w.load = connect.NewClient[[]byte, []byte](connections, service+"BatchObjects", options)
	if err := w.awaitReady(ctx); err != nil {
		return nil, err
	}
	return w, w.createClass(ctx)
}

func (w *weaviate) stop() {
	if w.command != nil && w.command.Process != nil {
		_ = w.command.Process.Signal(syscall.SIGTERM)
		_ = w.command.Wait()
	}
	_ = os.RemoveAll(w.dir)
}

func freePort(ctx context.Context) (string, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}

func (w *weaviate) awaitReady(ctx context.Context) error {
	const patience = 2 * time.Minute
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		if w.call(ctx, http.MethodGet, "/v1/.well-known/ready", nil, nil) == nil {
			return nil
		}
	}
	return fmt.Errorf("weaviate was not ready within %v", patience)
}

// call calls the REST API.
func (w *weaviate) call(ctx context.Context, method, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, w.url+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode >= http.StatusBadRequest {
		err = fmt.Errorf("%s %s: %s: %s", method, path, res.Status, answer)
	}
	if err != nil || out == nil {
		return err
	}
	return json.Unmarshal(answer, out)
}

func (w *weaviate) createClass(ctx context.Context) error {
	type object map[string]any
	var properties []object
	for field := range synthetic.Metadata(0) {
		properties = append(properties, object{"name": field, "dataType": []string{"number"}})
	}
	return w.call(ctx, http.MethodPost, "/v1/schema", object{
		"class": weaviateClass, "vectorizer": "none", "vectorIndexType": "hnsw", "properties": properties,
		"vectorIndexConfig": object{"distance": "cosine", "maxConnections": 16, "efConstruction": 64},
	}, nil)
}

// write stores the vectors in [from, to), which are then searchable.
func (w *weaviate) write(ctx context.Context, d data, from, to int) error {
	var req []byte
	for n := from; n < to; n++ {
		metadata, err := structpb.NewStruct(d.metadata(n))
		if err != nil {
			return err
		}
		fields, err := proto.Marshal(metadata)
		if err != nil {
			return err
		}
		var object []byte
		object = appendBytes(object, 1, []byte(fmt.Sprintf("00000000-0000-0000-0000-%012d", n)))
		object = appendBytes(object, 3, appendBytes(nil, 1, fields))
		object = appendBytes(object, 4, []byte(weaviateClass))
		object = appendBytes(object, 6, floats(d.values[n]))
		req = appendBytes(req, 1, object)
	}
	res, err := w.load.CallUnary(ctx, connect.NewRequest(&req))
	if err != nil {
		return err
	}
	if failed := fieldOf(*res.Msg, 2); failed != nil {
		return fmt.Errorf("weaviate stored not all: %q", failed)
	}
	return nil
}

// query returns the ids of the nearest vectors with the field set to 1; an empty field
// means all vectors.
func (w *weaviate) query(ctx context.Context, question []float32, field string) ([]string, error) {
	req := appendBytes(nil, 1, []byte(weaviateClass))
	properties := protowire.AppendVarint(protowire.AppendTag(nil, 11, protowire.VarintType), 1) // all of them, as the others return
	req = appendBytes(req, 20, properties)
	metadata := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 1)     // uuid
	metadata = protowire.AppendVarint(protowire.AppendTag(metadata, 5, protowire.VarintType), 1) // distance
	req = appendBytes(req, 21, metadata)
	req = protowire.AppendVarint(protowire.AppendTag(req, 30, protowire.VarintType), topK)
	if field != "" {
		filter := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 1) // equal
		filter = protowire.AppendFixed64(protowire.AppendTag(filter, 7, protowire.Fixed64Type), math.Float64bits(1))
		req = appendBytes(req, 40, appendBytes(filter, 20, appendBytes(nil, 1, []byte(field))))
	}
	req = appendBytes(req, 43, appendBytes(nil, 4, floats(question)))
	req = protowire.AppendVarint(protowire.AppendTag(req, 102, protowire.VarintType), 1)
	res, err := w.search.CallUnary(ctx, connect.NewRequest(&req))
	if err != nil {
		return nil, err
	}
	var ids []string
	err = eachField(*res.Msg, 2, func(result []byte) error {
		id := string(fieldOf(fieldOf(result, 2), 1))
		number, err := strconv.Atoi(id[strings.LastIndexByte(id, '-')+1:])
		ids = append(ids, entryID(number))
		return err
	})
	return ids, err
}

// floats returns numbers as little-endian 32-bit floats.
func floats(values []float32) []byte {
	raw := make([]byte, 0, 4*len(values))
	for _, v := range values {
		raw = protowire.AppendFixed32(raw, math.Float32bits(v))
	}
	return raw
}

// appendBytes appends a field of a message that is a text, bytes or a message.
func appendBytes(message []byte, field protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(message, field, protowire.BytesType), value)
}

// eachField calls do with the values of a field that is a text, bytes or a message.
func eachField(message []byte, field protowire.Number, do func([]byte) error) error {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return protowire.ParseError(n)
		}
		size := protowire.ConsumeFieldValue(number, kind, message[n:])
		if size < 0 {
			return protowire.ParseError(size)
		}
		if number == field && kind == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(message[n:])
			if err := do(value); err != nil {
				return err
			}
		}
		message = message[n+size:]
	}
	return nil
}

// fieldOf returns the first value of a field, nil if there is none.
func fieldOf(message []byte, field protowire.Number) (found []byte) {
	_ = eachField(message, field, func(value []byte) error {
		found = value
		return io.EOF
	})
	return found
}

// rawCodec passes messages that are encoded already.
type rawCodec struct{}

func (rawCodec) Name() string { return "proto" }

func (rawCodec) Marshal(message any) ([]byte, error) {
	raw, ok := message.(*[]byte)
	if !ok {
		return nil, errors.New("not an encoded message")
	}
	return *raw, nil
}

func (rawCodec) Unmarshal(encoded []byte, message any) error {
	raw, ok := message.(*[]byte)
	if !ok {
		return errors.New("not an encoded message")
	}
	*raw = bytes.Clone(encoded)
	return nil
}
