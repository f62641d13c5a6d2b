package research

import (
	"errors"
	"sync"
)

var (
	errSeconds = errors.New("the seconds of the research are used up")
	errSteps   = errors.New("the steps of the research are used up")
)

// counter counts the steps of a research, and reports them one at a time. Safe for concurrent use.
type counter struct {
	most   int
	admit  func() error
	report func(Event) error

	mu      sync.Mutex
	taken   int
	ended   bool  // a step was not taken, as there were most
	refused error // of admit
}

// take counts a step that is about to run, and returns its number. Errors: errSteps; those of admit.
func (c *counter) take() (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refused != nil {
		return 0, c.refused
	}
	if c.taken >= c.most {
		c.ended = true
		return 0, errSteps
	}
	if c.taken > 0 && c.admit != nil { // the first was admitted with the call
		if err := c.admit(); err != nil {
			c.refused = err
			return 0, err
		}
	}
	c.taken++
	return c.taken, nil
}

// tell reports an event.
func (c *counter) tell(e Event) error {
	if c.report == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.report(e)
}

// usedUp reports whether an error is that of take.
func (c *counter) usedUp(err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return errors.Is(err, errSteps) || c.refused != nil && errors.Is(err, c.refused)
}

// done returns the number of steps that have begun.
func (c *counter) done() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.taken
}
