package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"
)

// Bodies that never end. The service must cut them off, and must not hold all of them in
// memory.

const (
	slowConnections = 60
	slowBody        = 31 << 20
	// slowPause is shorter than the documented 30 s in which some byte must arrive.
	slowPause = 20 * time.Second
	// slowPatience is longer than the documented two minutes for a whole message, and the
	// half minute in which the next byte may arrive.
	slowPatience = 180 * time.Second
)

// slowAttacks returns the attacks with bodies that arrive slowly.
func slowAttacks() []attack {
	slow := func(name, what, path string, key func(*arena) string) attack {
		what = "60 connections with 31 MiB of a body, then a byte every 20 s, to " + what
		return attack{name: name, what: what, run: func(ctx context.Context, s *arena) (result, error) { return s.dribble(ctx, path, key(s)) }}
	}
	reader, nobody := func(s *arena) string { return s.attacker.read }, func(*arena) string { return "" }
	return []attack{
		slow("slow-rpc", "an RPC, with a read key", "/ragd.v1.QueryService/Rerank", reader),
		slow("slow-mcp", "/mcp, with a read key", "/mcp", reader),
		slow("slow-rpc-stranger", "an RPC, without a key", "/ragd.v1.QueryService/Rerank", nobody),
		slow("slow-mcp-stranger", "/mcp, without a key", "/mcp", nobody),
		slow("slow-health", "the health service, without a key", "/grpc.health.v1.Health/Check", nobody),
	}
}

// dribble opens the connections and waits until all are cut off, at most slowPatience.
func (s *arena) dribble(ctx context.Context, path, key string) (result, error) {
	ctx, cancel := context.WithTimeout(ctx, slowPatience)
	defer cancel()
	var mu sync.Mutex
	var cut []time.Duration
	statuses := map[string]int{}
	var connections sync.WaitGroup
	for range slowConnections {
		connections.Go(func() {
			status, took := s.dribbleOne(ctx, path, key)
			mu.Lock()
			defer mu.Unlock()
			if statuses[status]++; status != "open" {
				cut = append(cut, took)
			}
		})
	}
	connections.Wait()
	last := time.Duration(0)
	for _, d := range cut {
		last = max(last, d)
	}
	var counted []string
	for status, n := range statuses {
		counted = append(counted, fmt.Sprintf("%dx %s", n, status))
	}
	r := result{answer: fmt.Sprintf("%s; %d of %d cut off, the last after %.0f s", strings.Join(counted, ", "), len(cut), slowConnections, last.Seconds())}
	if open := slowConnections - len(cut); open > 0 {
		r.breaks("%d connections were still open after %v", open, slowPatience)
	}
	return r, nil
}

// dribbleOne sends one body that never ends. It returns the status with which the
// connection was cut off and the time until then, or "open" at the end of ctx.
func (s *arena) dribbleOne(ctx context.Context, path, key string) (status string, took time.Duration) {
	start := time.Now()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", s.Address)
	if err != nil {
		return "refused", time.Since(start)
	}
	defer conn.Close()
	answered := make(chan string, 1)
	go func() {
		line, err := bufio.NewReader(conn).ReadString('\n')
		if fields := strings.Fields(line); err == nil && len(fields) > 1 {
			answered <- "HTTP " + fields[1]
			return
		}
		answered <- "closed"
	}()
	go drip(ctx, conn, fmt.Sprintf("POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"+
		"Authorization: Bearer %s\r\nContent-Length: %d\r\n\r\n", path, s.Address, key, slowBody+4096))
	select {
	case status := <-answered:
		return status, time.Since(start)
	case <-ctx.Done():
		return "open", time.Since(start)
	}
}

// drip writes a header, 31 MiB of a body at once and then a byte at a time, until the
// connection is closed or ctx ends.
func drip(ctx context.Context, conn net.Conn, header string) {
	_, _ = io.WriteString(conn, header+`{"queryText":"`)
	repeat(conn, "a", slowBody)
	for ctx.Err() == nil {
		time.Sleep(slowPause)
		if _, err := io.WriteString(conn, "a"); err != nil {
			return
		}
	}
}
