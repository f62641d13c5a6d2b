package operate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"runtime"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
)

func (p *program) consoleCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "console",
		Short: "Open the web page of the service, signed in",
		Long: `Open the console, the web page of the service, in a browser, signed in with the
credential that other commands use. The link that it prints signs in once, within two
minutes, and does not contain the key. An operator who names a tenant with --tenant
sees its documents.`,
		Example: `  ragd console
  ragd console --no-open
  ragd console --tenant acme --server https://ragd.example.com`,
		Args: command.Arguments(),
	}
	quiet := cmd.Flags().Bool("no-open", false, "print the link alone")
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, _ []string) error {
		link, err := makeLink(ctx, c)
		if err != nil {
			return err
		}
		if !*quiet && p.hasDesktop() {
			if err := openBrowser(ctx, link.URL); err != nil {
				output.Note(p.Out.Stderr, "no browser could be started (%v): open the link yourself", err)
			}
		}
		if p.Out.JSON {
			return p.Out.Value(link)
		}
		output.Note(p.Out.Stdout, "%s", link.URL)
		return nil
	})
	return p.ClientFlags(cmd)
}

// consoleLink is a link that opens the console signed in, once.
type consoleLink struct {
	URL       string    `json:"url"`
	ExpiresAt time.Time `json:"expiresAt"`
}

// makeLink makes a link for the client's credential.
func makeLink(ctx context.Context, c *client.Client) (*consoleLink, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.Server+"/console/links", nil)
	if err != nil {
		return nil, err
	}
	if c.Access.Key == "" {
		return nil, connect.NewError(connect.CodeUnauthenticated, errors.New("no key"))
	}
	req.Header.Set("Authorization", "Bearer "+c.Access.Key)
	res, err := c.Send(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, refusal(res)
	}
	var made struct {
		Link      string    `json:"link"`
		ExpiresAt time.Time `json:"expiresAt"`
	}
	if err := json.NewDecoder(res.Body).Decode(&made); err != nil {
		return nil, fmt.Errorf("read the link: %w", err)
	}
	in := url.Values{"link": {made.Link}}
	if c.Access.Header != "" {
		in.Set("tenant", c.Access.Header)
	}
	return &consoleLink{URL: c.Server + "/sign-in#" + in.Encode(), ExpiresAt: made.ExpiresAt}, nil
}

// refusal returns the error in an answer of the console.
func refusal(res *http.Response) error {
	var wire struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	if res.StatusCode == http.StatusNotFound || json.NewDecoder(io.LimitReader(res.Body, 1<<16)).Decode(&wire) != nil {
		return connect.NewError(connect.CodeUnimplemented, errors.New("the service has no console: its operator has set no-console"))
	}
	var code connect.Code
	if err := code.UnmarshalText([]byte(wire.Code)); err != nil {
		code = connect.CodeUnknown
	}
	return connect.NewWireError(code, errors.New(wire.Message))
}

// hasDesktop reports whether there is a screen on which a browser can be opened.
func (p *program) hasDesktop() bool {
	return runtime.GOOS == "darwin" || runtime.GOOS == "windows" || p.Getenv("DISPLAY") != "" || p.Getenv("WAYLAND_DISPLAY") != ""
}

// openBrowser shows an address in the user's browser.
func openBrowser(ctx context.Context, address string) error {
	command := []string{"xdg-open"}
	switch runtime.GOOS {
	case "darwin":
		command = []string{"open"}
	case "windows":
		command = []string{"rundll32", "url.dll,FileProtocolHandler"}
	}
	return exec.CommandContext(ctx, command[0], append(command[1:], address)...).Run()
}
