package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/ragdhq/ragd/cmd/ragd/internal/misuse"
)

// maxDefinition bounds what is read of a definition; the service accepts less.
const maxDefinition = 1 << 20

// barePlaceholder matches a value in YAML that begins with a placeholder and is not in quotes.
var barePlaceholder = regexp.MustCompile(`(?m)[:-][ \t]+\{\{`)

// ReadDefinition reads a message from a file in YAML or JSON, - for standard input.
func (p *Program) ReadDefinition(path string, into proto.Message) error {
	if path == "" {
		return misuse.Errorf("--file is missing")
	}
	raw, err := p.ReadText(path)
	if err != nil {
		return err
	}
	encoded, err := toJSON(raw)
	if err != nil {
		return fmt.Errorf("%s %w", nameOf(path), err)
	}
	if err := protojson.Unmarshal(encoded, into); err != nil {
		return fmt.Errorf("%s: %s", nameOf(path), ProtoReason(err))
	}
	return nil
}

// ReadText reads a definition as it is from a file, - for standard input.
func (p *Program) ReadText(path string) ([]byte, error) {
	in, err := p.Open(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	raw, err := io.ReadAll(io.LimitReader(in, maxDefinition+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the definition: %w", err)
	case len(raw) > maxDefinition:
		return nil, fmt.Errorf("%s has more than %d bytes", nameOf(path), maxDefinition)
	}
	return raw, nil
}

// nameOf returns what a file is called in errors.
func nameOf(path string) string {
	if path == "-" {
		return "standard input"
	}
	return path
}

// toJSON converts an object in YAML, of which JSON is a part, to JSON.
func toJSON(raw []byte) ([]byte, error) {
	var document any
	err := yaml.Unmarshal(raw, &document)
	var encoded []byte
	if err == nil {
		encoded, err = json.Marshal(document)
	}
	_, isObject := document.(map[string]any)
	switch {
	case err != nil && barePlaceholder.Match(raw):
		return nil, errors.New("is neither YAML nor JSON: put a text that begins with {{ in quotes")
	case err != nil:
		return nil, fmt.Errorf("is neither YAML nor JSON: %s", strings.TrimPrefix(err.Error(), "yaml: "))
	case document == nil:
		return nil, errors.New("is empty")
	case !isObject:
		return nil, errors.New("must be an object, with lines such as `description: Answers questions`")
	}
	return encoded, nil
}

// ProtoReason returns what is wrong with the JSON of a message.
func ProtoReason(err error) string {
	return strings.TrimPrefix(strings.ReplaceAll(err.Error(), "\u00a0", " "), "proto: ")
}

// DefinitionFlag adds --file, the path of what ReadDefinition reads, which has a noun for people.
func DefinitionFlag(cmd *cobra.Command, noun string) *string {
	return cmd.Flags().StringP("file", "f", "", "file with the "+noun+" in YAML or JSON, - for standard input")
}

// ETagFlag adds --etag to a command that changes something.
func ETagFlag(cmd *cobra.Command) *string {
	return cmd.Flags().String("etag", "", "change only what still has this etag, which get and list show with --json")
}

// YAMLFlag adds --yaml, which prints a definition alone.
func YAMLFlag(cmd *cobra.Command) *bool {
	return cmd.Flags().Bool("yaml", false, "print the definition in YAML, as create and update read it")
}

// ShowDefinition prints a definition in YAML.
func (p *Program) ShowDefinition(definition *structpb.Struct) error {
	encoded, err := yaml.Marshal(definition.AsMap())
	if err != nil {
		return fmt.Errorf("write the definition: %w", err)
	}
	_, err = p.Out.Stdout.Write(encoded)
	return err
}
