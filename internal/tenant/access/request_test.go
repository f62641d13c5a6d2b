package access_test

import (
	"testing"

	"github.com/ragdhq/ragd/internal/tenant/access"
)

func TestFilterOfTheRequestContextIsAnObjectOrAString(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		raw, want string // want is the filter; {} means none
		refused   bool
	}{
		{raw: `{"filter": {"team": "red"}}`, want: `{"team":"red"}`},
		{raw: `{"filter": "{\"team\": \"red\"}"}`, want: `{"team":"red"}`},
		{raw: `{"filter": {}}`, want: `{}`},
		{raw: `{"filter": ""}`, want: `{}`},
		{raw: `{"filter": null}`, want: `{}`},
		{raw: `{"filter": "\"{}\""}`, refused: true},
		{raw: `{"filter": "red"}`, refused: true},
		{raw: `{"filter": ["red"]}`, refused: true},
		{raw: `{"filter": 5}`, refused: true},
	} {
		o, err := access.ParseOverrides([]byte(tc.raw))
		if (err != nil) != tc.refused {
			t.Errorf("%s: %v", tc.raw, err)
		}
		if got := o.Filter.String(); err == nil && got != tc.want {
			t.Errorf("%s: %s, want %s", tc.raw, got, tc.want)
		}
	}
}
