package webhook_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ragdhq/ragd/internal/automation/webhook"
	"github.com/ragdhq/ragd/internal/operate/fault"
)

// The published vectors of the specification's reference libraries.
const (
	vectorSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	vectorID     = "msg_p5jXN8AQM9LWM0D4loKWxJek"
	vectorTime   = 1614265330
	vectorBody   = `{"test": 2432232314}`
	vectorSigned = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
)

func secret(t *testing.T, text string) webhook.Secret {
	t.Helper()
	s, err := webhook.ParseSecret("secret", text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTheVectorOfTheSpecificationIsSigned(t *testing.T) {
	t.Parallel()
	header := http.Header{}
	webhook.Sign(header, vectorID, time.Unix(vectorTime, 0), []byte(vectorBody), secret(t, vectorSecret))
	for name, want := range map[string]string{
		webhook.HeaderID: vectorID, webhook.HeaderTimestamp: "1614265330", webhook.HeaderSignature: vectorSigned,
	} {
		if got := header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// The cases of the reference libraries' tests.
func TestVerify(t *testing.T) {
	t.Parallel()
	now := time.Unix(vectorTime, 0)
	other := "v1,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc="
	for name, c := range map[string]struct {
		set  map[string]string
		body string
		now  time.Time
		want error
	}{
		"a valid signature":                      {},
		"the secret of another":                  {set: map[string]string{webhook.HeaderSignature: other}, want: webhook.ErrSignature},
		"a partial signature":                    {set: map[string]string{webhook.HeaderSignature: vectorSigned[:20]}, want: webhook.ErrSignature},
		"an empty signature":                     {set: map[string]string{webhook.HeaderSignature: "v1,"}, want: webhook.ErrSignature},
		"a signature without its version":        {set: map[string]string{webhook.HeaderSignature: strings.TrimPrefix(vectorSigned, "v1,")}, want: webhook.ErrSignature},
		"another version":                        {set: map[string]string{webhook.HeaderSignature: "v2" + vectorSigned[2:]}, want: webhook.ErrSignature},
		"several signatures, one of which fits":  {set: map[string]string{webhook.HeaderSignature: other + " v2,xyz v1a,x " + vectorSigned + " " + other}},
		"another body":                           {body: "{}", want: webhook.ErrSignature},
		"another id":                             {set: map[string]string{webhook.HeaderID: "msg_2"}, want: webhook.ErrSignature},
		"another time within the tolerance":      {set: map[string]string{webhook.HeaderTimestamp: "1614265331"}, want: webhook.ErrSignature},
		"no id":                                  {set: map[string]string{webhook.HeaderID: ""}, want: webhook.ErrHeaders},
		"no timestamp":                           {set: map[string]string{webhook.HeaderTimestamp: ""}, want: webhook.ErrHeaders},
		"a timestamp that is no number":          {set: map[string]string{webhook.HeaderTimestamp: "hello"}, want: webhook.ErrHeaders},
		"no signature":                           {set: map[string]string{webhook.HeaderSignature: ""}, want: webhook.ErrHeaders},
		"an old message":                         {now: now.Add(webhook.Tolerance + time.Second), want: webhook.ErrTimestamp},
		"a message of the future":                {now: now.Add(-webhook.Tolerance - time.Second), want: webhook.ErrTimestamp},
		"a message at the edge of the tolerance": {now: now.Add(webhook.Tolerance)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			header := http.Header{}
			webhook.Sign(header, vectorID, now, []byte(vectorBody), secret(t, vectorSecret))
			for key, value := range c.set {
				header.Set(key, value)
			}
			at, body := now, vectorBody
			if !c.now.IsZero() {
				at = c.now
			}
			if c.body != "" {
				body = c.body
			}
			if err := webhook.Verify(header, at, []byte(body), secret(t, vectorSecret)); !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
		})
	}
}

// While a secret is being replaced, receivers have the old or the new one.
func TestSeveralSecretsSignOneMessage(t *testing.T) {
	t.Parallel()
	older, newer := webhook.NewSecret(), webhook.NewSecret()
	now := time.Now()
	header := http.Header{}
	webhook.Sign(header, "msg_1", now, []byte("a"), newer, older)
	for _, s := range []webhook.Secret{older, newer} {
		if err := webhook.Verify(header, now, []byte("a"), s); err != nil {
			t.Error(err)
		}
	}
	if err := webhook.Verify(header, now, []byte("a"), webhook.NewSecret()); !errors.Is(err, webhook.ErrSignature) {
		t.Errorf("a third secret: %v", err)
	}
	if err := webhook.Verify(header, now, []byte("a")); !errors.Is(err, webhook.ErrSignature) {
		t.Errorf("no secret: %v", err)
	}
}

func TestSecretsHaveTheirPrefixAndLength(t *testing.T) {
	t.Parallel()
	made := webhook.NewSecret()
	if again := secret(t, made.Text()); again.Text() != made.Text() || !strings.HasPrefix(made.Text(), webhook.Prefix) {
		t.Errorf("read back as another secret")
	}
	if got := secret(t, strings.TrimPrefix(vectorSecret, webhook.Prefix)); got.Text() != vectorSecret {
		t.Errorf("without its prefix it is another secret")
	}
	for _, bad := range []string{"", "whsec_", "whsec_c2hvcnQ=", "whsec_not base64!", "whsec_" + strings.Repeat("YWJj", 22)} {
		if _, err := webhook.ParseSecret("secret", bad); fault.KindOf(err) != fault.Invalid || bad != "" && bad != "whsec_" && strings.Contains(err.Error(), bad) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	for _, shown := range []string{fmt.Sprint(made), fmt.Sprintf("%v %+v %#v", made, struct{ S webhook.Secret }{made}, made)} {
		if strings.Contains(shown, strings.TrimPrefix(made.Text(), webhook.Prefix)) {
			t.Errorf("a secret shows itself: %s", shown)
		}
	}
}
