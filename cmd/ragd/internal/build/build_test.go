package build

import "testing"

func TestVersion(t *testing.T) {
	t.Parallel()
	for module, want := range map[string]string{
		"": Release, "(devel)": Release, "v0.0.0-20261128033649-151d1dad0000": Release, "v0.1.1-0.20261128033649-151d1dad0000+dirty": Release,
		"v0.1.0": "0.1.0", "v1.2.3-rc.1": "1.2.3-rc.1",
	} {
		if got := version(module); got != want {
			t.Errorf("%q is version %s, want %s", module, got, want)
		}
	}
}
