package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
)

// The other tenant's calls are made by a process of their own, as they would come from
// another machine: in the process that attacks they would wait for its work, too.

// question is a call of the other tenant.
type question struct {
	URL  string // of the procedure
	Key  string
	Body string // JSON, in which $N stands for the number of the call
}

// question returns a call of the other tenant.
func (s *arena) question(procedure string, request object) question {
	return question{URL: s.URL() + "/ragd.v1." + procedure, Key: s.victim.read, Body: string(encode(request))}
}

// ask asks the questions in turns for one round, in a process of its own.
func ask(ctx context.Context, questions []question) (latencies, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, program, "-probe")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(encode(questions)), &out, os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("ask as the other tenant: %w", err)
	}
	var found measured
	if err := json.Unmarshal(out.Bytes(), &found); err != nil {
		return nil, err
	}
	if found.Failed != "" {
		return found.Latencies, errors.New(found.Failed)
	}
	return found.Latencies, nil
}

// measured is the output of a probe.
type measured struct {
	Latencies latencies
	Failed    string // why it ended early
}

// probe asks the questions that it reads, and writes the latencies of the calls.
func probe(ctx context.Context, in io.Reader, out io.Writer) error {
	var questions []question
	if err := json.NewDecoder(in).Decode(&questions); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, round)
	defer cancel()
	n := 0
	var found measured
	var err error
	found.Latencies, err = measure(ctx, func(ctx context.Context) answer {
		q := questions[n%len(questions)]
		n++
		body := strings.ReplaceAll(q.Body, "$N", fmt.Sprint(n))
		return send(ctx, http.MethodPost, q.URL, q.Key, []byte(body), "Content-Type", "application/json")
	})
	if err != nil {
		found.Failed = err.Error()
	}
	return json.NewEncoder(out).Encode(found)
}
