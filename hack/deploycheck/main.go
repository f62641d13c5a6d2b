// Command deploycheck checks files in deploy: a Compose file against the specification, and
// Kubernetes objects, which come from stdin, against the types of Kubernetes, where a field that
// does not exist is an error.
//
//	deploycheck compose FILE
//	deploycheck kubernetes < objects.yaml
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/compose-spec/compose-go/v2/cli"
	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	strict "sigs.k8s.io/yaml"
)

func main() {
	err := errors.New("usage: deploycheck compose FILE | kubernetes")
	switch {
	case len(os.Args) == 3 && os.Args[1] == "compose":
		err = compose(os.Args[2])
	case len(os.Args) == 2 && os.Args[1] == "kubernetes":
		err = kubernetes(os.Stdin)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "deploycheck:", err)
		os.Exit(1)
	}
}

// compose loads a Compose file with the files that it names.
func compose(file string) error {
	options, err := cli.NewProjectOptions([]string{file}, cli.WithOsEnv)
	if err != nil {
		return err
	}
	project, err := options.LoadProject(context.Background())
	if err != nil {
		return err
	}
	for name, service := range project.Services {
		for _, volume := range service.Volumes {
			if volume.Type == "bind" {
				if _, err := os.Stat(volume.Source); err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
			}
		}
	}
	for name, secret := range project.Secrets {
		if _, err := os.Stat(secret.File); err != nil {
			return fmt.Errorf("secret %s: %w", name, err)
		}
	}
	return nil
}

// kinds are the types of the objects that are checked. Those of others, such as of the Prometheus
// operator, are only parsed.
var kinds = map[string]func() any{
	"apps/v1 Deployment":                     func() any { return &apps.Deployment{} },
	"autoscaling/v2 HorizontalPodAutoscaler": func() any { return &autoscaling.HorizontalPodAutoscaler{} },
	"networking.k8s.io/v1 Ingress":           func() any { return &networking.Ingress{} },
	"networking.k8s.io/v1 NetworkPolicy":     func() any { return &networking.NetworkPolicy{} },
	"policy/v1 PodDisruptionBudget":          func() any { return &policy.PodDisruptionBudget{} },
	"v1 Service":                             func() any { return &core.Service{} },
	"v1 ServiceAccount":                      func() any { return &core.ServiceAccount{} },
}

// parsed are kinds whose types are not Kubernetes' own.
var parsed = map[string]bool{"monitoring.coreos.com/v1 PodMonitor": true, "monitoring.coreos.com/v1 PrometheusRule": true}

// kubernetes checks the objects in a stream of YAML documents.
func kubernetes(in io.Reader) error {
	raw, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	documents := yaml.NewDocumentDecoder(io.NopCloser(bytes.NewReader(raw)))
	checked := 0
	buffer := make([]byte, len(raw)+1)
	for {
		n, err := documents.Read(buffer)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		document := buffer[:n]
		var kind meta.TypeMeta
		if err := strict.Unmarshal(document, &kind); err != nil {
			return err
		}
		if kind.Kind == "" { // only a comment
			continue
		}
		name := kind.APIVersion + " " + kind.Kind
		checked++
		if parsed[name] {
			continue
		}
		object, known := kinds[name]
		if !known {
			return fmt.Errorf("%s is not known here: add its type", name)
		}
		if err := strict.UnmarshalStrict(document, object()); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if checked == 0 {
		return errors.New("there are no objects")
	}
	fmt.Printf("%d objects are valid\n", checked)
	return nil
}
