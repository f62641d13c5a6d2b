package localmodel

import (
	"errors"
	"io/fs"
	"os"
	"slices"
)

// Preferred are the models that are chosen before others: those that were measured here.
const (
	PreferredEmbedding    = "all-MiniLM-L6-v2"
	PreferredCrossEncoder = "ms-marco-MiniLM-L6-v2"
)

// Embedding returns the name of a model with vectors that can be used: PreferredEmbedding, else
// the first by name. It is "" if there is none. Errors: of the system.
func (s *Service) Embedding() (string, error) { return s.choose(PreferredEmbedding, false) }

// CrossEncoder is Embedding for cross-encoders.
func (s *Service) CrossEncoder() (string, error) { return s.choose(PreferredCrossEncoder, true) }

func (s *Service) choose(preferred string, crossEncoder bool) (string, error) {
	entries, err := os.ReadDir(s.config.Dir)
	if errors.Is(err, fs.ErrNotExist) || s.config.Dir == "" {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	names := []string{preferred}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	i := slices.IndexFunc(names, func(name string) bool {
		d, err := s.describe("", name)
		return err == nil && d.CrossEncoder == crossEncoder
	})
	if i < 0 {
		return "", nil
	}
	return names[i], nil
}
