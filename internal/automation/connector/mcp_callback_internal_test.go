package connector

import (
	"strings"
	"testing"
)

func TestACallbackPageShowsTextsAsTheyAre(t *testing.T) {
	t.Parallel()
	hostile := `"><script>alert('&')</script>%s`
	const shown = `&#34;&gt;&lt;script&gt;alert(&#39;&amp;&#39;)&lt;/script&gt;%s`
	for name, c := range map[string]struct {
		view callbackView
		want int // how often the text is in the page
	}{
		"a question": {callbackView{Connector: hostile, Tenant: hostile, State: hostile, Code: hostile, Issuer: hostile}, 5},
		"a message":  {callbackView{Message: hostile, Connector: hostile, State: hostile}, 1},
	} {
		page := c.view.page()
		if strings.Contains(page, "<script") || strings.Count(page, shown) != c.want || !strings.HasSuffix(page, "</html>\n") {
			t.Errorf("%s: %s", name, page)
		}
	}
}
