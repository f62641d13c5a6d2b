// Package workflow stores the workflows of tenants and runs them: steps that call tools,
// map values, branch, run at once or for each item, and wait for people. A run is durable:
// it continues after its last finished step when the service was killed.
//
// A run is a row, and so is each of its steps. Its task in the job queue runs the steps from the
// first; a step that has finished before returns what it returned then. So a step may run twice, if
// the service ended while it was running, but not after it has finished.
//
// The states of a run; the last three are final:
//
//	queued --> running --> succeeded
//	  ^          |  |
//	  |  resume  |  +----> failed
//	  +- waiting-+
//	any of these --------> cancelled
//
// Steps run with the rights of the credential that started the run: they are stored with it, and
// whether the credential is still valid is checked again while the run lasts.
package workflow

import (
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/tenant/catalog"
	"github.com/ragdhq/ragd/internal/tool/schema"
)

// Workflow is a version of a workflow.
type Workflow struct {
	Name    string
	Version int // from 1
	Definition
	CreatedAt time.Time // of the version
	Versions  []int     // that exist, the newest first; only from Get
}

// ETag returns the etag of the workflow, which changes with its latest version.
func (w Workflow) ETag() string { return catalog.ETag(w.Name, w.CreatedAt, strconv.Itoa(w.Version)) }

// ToolPrefix begins the names of the tools that run workflows, also in the bounds of credentials.
const ToolPrefix = "run_"

// Limits of workflows.
const (
	maxWorkflows       = 100 // of a tenant
	maxVersions        = 100 // of a workflow
	maxDefinitionBytes = 128 << 10
	maxSteps           = 200 // of a definition, inner ones included
	maxNesting         = 16  // of steps within each other
	maxBranches        = 32
	maxConcurrency     = 16
	maxDepth           = 8 // of workflows within each other
	maxTextBytes       = 4 << 10
	maxAttempts        = 10
	maxBackoff         = time.Minute
	// maxStepTime is the longest timeout of a step, and defaultStepTime that of one that sets none.
	maxStepTime     = 15 * time.Minute
	defaultStepTime = time.Minute
	// maxWait and defaultWait bound how long a step waits to be resumed.
	maxWait     = 30 * 24 * time.Hour
	defaultWait = 7 * 24 * time.Hour
)

var idPattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`)

func checkName(name string) error { return catalog.CheckName("workflowName", name, 60) }

// check checks what needs no other definitions. Errors: Invalid.
func (w Workflow) check() error {
	if err := checkName(w.Name); err != nil {
		return err
	}
	if w.Description == "" {
		return fault.Field("definition.description", "is missing: it tells models and people what the workflow does")
	}
	for field, text := range map[string]string{"definition.title": w.Title, "definition.description": w.Description} {
		if err := textlimit.Check(field, text, maxTextBytes); err != nil {
			return err
		}
	}
	for field, raw := range map[string][]byte{"definition.inputSchema": w.InputSchema, "definition.outputSchema": w.OutputSchema} {
		if err := checkObjectSchema(field, raw); err != nil {
			return err
		}
	}
	return nil
}

// checkObjectSchema checks a schema of an object, as those of tools are.
func checkObjectSchema(field string, raw []byte) error {
	if len(raw) == 0 {
		return nil
	}
	if _, err := schema.Compile(field, raw); err != nil {
		return err
	}
	if types := typesOf(shapeOf(raw)); !slices.Equal(types, []string{"object"}) {
		return fault.Field(field, `must be the schema of an object: {"type": "object", ...}`)
	}
	return nil
}
