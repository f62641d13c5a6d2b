package config

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ragdhq/ragd/internal/operate/nearest"
)

// testPrefix begins the names of variables for ragd's own tests.
const testPrefix = "RAGD_TEST_"

// serviceLink matches the variables that Kubernetes adds to every container for a service
// whose name begins with "ragd".
var serviceLink = regexp.MustCompile(`^RAGD_(\w+_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$`)

// CheckEnvironment returns an error if a variable in environ (NAME=value) begins with RAGD_
// but is no setting of any command, so that a misspelt one is not ignored. It names all
// such variables, and the settings that they may mean.
func CheckEnvironment(root *cobra.Command, environ []string) error {
	known := map[string]bool{}
	addKnown(root, known)
	names := []string{environmentKey("config")}
	for key := range known {
		names = append(names, environmentKey(key))
	}
	slices.Sort(names)
	kubernetes := slices.ContainsFunc(environ, func(v string) bool { return strings.HasPrefix(v, "KUBERNETES_SERVICE_HOST=") })
	wrong := map[string]string{}
	for _, variable := range environ {
		name, value, _ := strings.Cut(variable, "=")
		switch {
		case value == "", !strings.HasPrefix(name, environmentKey("")), strings.HasPrefix(name, testPrefix),
			slices.Contains(names, name), kubernetes && serviceLink.MatchString(name):
			continue
		}
		wrong[name] = fmt.Sprintf("%s is not a setting%s", name, nearest.Hint(name, names))
	}
	if len(wrong) == 0 {
		return nil
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(wrong)) {
		all = append(all, wrong[name])
	}
	return fmt.Errorf("environment: %s (`ragd serve --help` and `ragd query --help` list the settings; unset what is not one)", strings.Join(all, "; "))
}
