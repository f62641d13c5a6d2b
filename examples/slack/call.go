package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// maxCalls is how often a call is made that Slack answers with too many requests.
const maxCalls = 3

// call calls a method of Slack's Web API. Where Slack asks to wait, it does, and calls again.
func (a *app) call(ctx context.Context, method string, message map[string]any) error {
	body, err := json.Marshal(message)
	if err != nil {
		return fmt.Errorf("encode a call of %s: %w", method, err)
	}
	for n := 1; ; n++ {
		wait, err := a.callOnce(ctx, method, body)
		if wait <= 0 || n == maxCalls {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(wait):
		}
	}
}

// callOnce returns how long to wait before the call is made again, 0 for not at all.
func (a *app) callOnce(ctx context.Context, method string, body []byte) (time.Duration, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.slack+"/"+method, bytes.NewReader(body))
	if err != nil {
		return 0, fmt.Errorf("call %s: %w", method, err)
	}
	req.Header.Set("Authorization", "Bearer "+a.token)
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, fmt.Errorf("call %s: %w", method, err)
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusTooManyRequests {
		seconds, err := strconv.Atoi(res.Header.Get("Retry-After"))
		if err != nil || seconds < 1 {
			seconds = 1
		}
		return time.Duration(seconds) * time.Second, fmt.Errorf("%s: too many requests", method)
	}
	var answer struct {
		OK    bool   `json:"ok"`
		Error string `json:"error"`
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, maxBody)).Decode(&answer); err != nil {
		return 0, fmt.Errorf("%s: status %d: %w", method, res.StatusCode, err)
	}
	if !answer.OK {
		return 0, fmt.Errorf("%s: %s", method, answer.Error)
	}
	return 0, nil
}
