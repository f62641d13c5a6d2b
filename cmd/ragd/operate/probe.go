package operate

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/config"
	"github.com/ragdhq/ragd/cmd/ragd/internal/misuse"
)

// probeTimeout bounds the answer to a probe.
const probeTimeout = 3 * time.Second

func (p *program) probeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "probe",
		Short: "Tell whether the service on this machine is ready",
		Long: `Tell whether the service of the same settings on this machine is ready: the exit
code is 0 or 1. It is for the health check of a container, which has no other
program. It asks at metrics-listen if that is set, else at listen.`,
		Example: `  ragd probe`,
		Args:    command.Arguments(),
	}
	flags := cmd.Flags()
	listen := flags.String("listen", "127.0.0.1:8484", "address on which the service answers")
	metrics := flags.String("metrics-listen", "", "address on which it answers Prometheus (default none)")
	certificate := flags.String("tls-cert", "", "its certificate (default none)")
	config.MarkSettings(flags, "listen", "metrics-listen", "tls-cert")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		address, scheme := *listen, "http"
		switch {
		case *metrics != "":
			address = *metrics
		case *certificate != "":
			scheme = "https"
		}
		return probe(cmd.Context(), scheme, address)
	}
	return cmd
}

// probe asks the service at an address of this machine whether it is ready.
func probe(ctx context.Context, scheme, address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return misuse.Errorf("%q is no address such as 127.0.0.1:8484", address)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+net.JoinHostPort(host, port)+"/readyz", http.NoBody)
	if err != nil {
		return err
	}
	// The name in the certificate is not that of this address, and no secret is sent.
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}}} //nolint:gosec // see above
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(res.Body, 1<<10))
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("the service is not ready: %s: %s", res.Status, strings.TrimSpace(string(text)))
	}
	return nil
}
