// Command openapi writes the API as an OpenAPI document: the one that protoc-gen-connect-openapi makes of
// the proto files, with what a reader or a generator of clients needs besides. It is a plugin of protoc, which
// `make generate` runs, and runs that generator, which tools/go.mod pins.
package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/pluginpb"
)

// base has what is not in the proto files: a title, how to authenticate, and the schema of errors.
//
//go:embed base.json
var base []byte

func main() {
	log.SetFlags(0)
	if err := run(os.Stdin, os.Stdout); err != nil {
		log.Fatal("openapi: ", err)
	}
}

func run(stdin io.Reader, stdout io.Writer) error {
	raw, err := io.ReadAll(stdin)
	if err != nil {
		return err
	}
	var req pluginpb.CodeGeneratorRequest
	if err := proto.Unmarshal(raw, &req); err != nil {
		return err
	}
	generated, err := generate(&req)
	if err != nil {
		return err
	}
	examples, err := readExamples()
	if err != nil {
		return err
	}
	text, err := finish([]byte(generated), examples)
	if err != nil {
		return err
	}
	answer, err := proto.Marshal(&pluginpb.CodeGeneratorResponse{
		SupportedFeatures: proto.Uint64(uint64(pluginpb.CodeGeneratorResponse_FEATURE_PROTO3_OPTIONAL)),
		File:              []*pluginpb.CodeGeneratorResponse_File{{Name: proto.String("openapi.json"), Content: proto.String(string(text))}},
	})
	if err != nil {
		return err
	}
	_, err = stdout.Write(answer)
	return err
}

// generate returns the document that the generator makes of the proto files.
func generate(req *pluginpb.CodeGeneratorRequest) (string, error) {
	req.Parameter = proto.String("path=openapi.json,format=json,content-types=json,features=connectrpc,trim-unused-types,short-service-tags,short-operation-ids")
	raw, err := proto.Marshal(req)
	if err != nil {
		return "", err
	}
	cmd := exec.Command("go", "tool", "-modfile=tools/go.mod", "protoc-gen-connect-openapi")
	cmd.Stdin, cmd.Stderr = bytes.NewReader(raw), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("protoc-gen-connect-openapi: %w", err)
	}
	var res pluginpb.CodeGeneratorResponse
	if err := proto.Unmarshal(out, &res); err != nil {
		return "", err
	}
	if res.Error != nil || len(res.GetFile()) != 1 {
		return "", fmt.Errorf("protoc-gen-connect-openapi: %s: %d files", res.GetError(), len(res.GetFile()))
	}
	return res.GetFile()[0].GetContent(), nil
}

// finish completes a generated document. examples are requests by the name of their message.
func finish(generated []byte, examples map[string]*object) ([]byte, error) {
	document, added := newObject(), newObject()
	if err := json.Unmarshal(generated, document); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(base, added); err != nil {
		return nil, fmt.Errorf("base.json: %w", err)
	}
	f := finisher{schemas: document.at("components").at("schemas"), examples: examples}
	tidy(document)
	document.merge(added)
	f.paths(document.at("paths"))
	f.prune(document)
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	err := encoder.Encode(document)
	return out.Bytes(), err
}
