package distinct

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

const (
	gate = "The gate opens two hours before high water and closes three hours after it. Ships of more than 40 metres take a pilot. " +
		"Whoever waits for the gate lies at the waiting pier, which has room for six ships, and listens on channel 12. "
	next = "A ship that has waited for more than a day pays the fee of a berth."
)

func TestTheSamePassage(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, first, second string
		want                bool
	}{
		{"the same bytes", gate, gate, true},
		{"lines, case and signs", gate, strings.ToUpper(strings.ReplaceAll(gate, " ", "\n")) + "!", true},
		{"markup", "See git-reset(1) and the section about *undoing* in the manual of " + gate, "See linkgit:git-reset[1] and the section about 'undoing' in the manual of " + gate, true},
		{"cut later", gate + next, gate, true},
		{"cut elsewhere", gate + next, "Tides. " + gate, true},
		{"the second has more", gate, gate + next + " " + strings.ReplaceAll(next, "day", "week") + " " + next, false},
		{"another number", gate, strings.Replace(gate, "40", "45", 1), false},
		{"another version", "Since version 1.2 the option is gone, and " + gate, "Since version 1.3 the option is gone, and " + gate, false},
		{"a word more", gate, strings.Replace(gate, "take a", "do not take a", 1), false},
		{"a word less", strings.Replace(gate, "take a", "do not take a", 1), gate, false},
		{"another last word", gate + "The fee is 30 crowns", gate + "The fee is 35 crowns", false},
		{"another first word", "Opening of North: " + gate, "Opening of South: " + gate, false},
		{"another comparison", "Open it if the level is > 5. " + gate, "Open it if the level is < 5. " + gate, false},
		{"another sign", "Open it below -5 degrees. " + gate, "Open it below 5 degrees. " + gate, false},
		{"another currency", "The fee is 30 € a day. " + gate, "The fee is 30 $ a day. " + gate, false},
		{"brackets", "Undo <commit> and no other. " + gate, "Undo \\<commit\\> and no other. " + gate, true},
		{"a hyphen", "The fee is refundable. " + gate + next, "The fee is non-refundable. " + gate + next, false},
		{"an overlap", gate + next, next + " " + strings.ReplaceAll(gate, "gate", "lock"), false},
		{"Chinese", "闸门在高潮前两小时打开，高潮后三小时关闭。超过四十米的船需要引航员。", "闸门在高潮前两小时打开，\n高潮后三小时关闭。超过四十米的船需要引航员。", true},
		{"Chinese, a word more", "闸门在高潮前两小时打开，高潮后三小时关闭。超过四十米的船需要引航员。", "闸门在高潮前两小时打开，高潮后三小时关闭。超过四十米的船不需要引航员。", false},
		{"Thai", "ประตูเปิดสองชั่วโมงก่อนน้ำขึ้นสูงสุด", "ประตูเปิดสองชั่วโมง ก่อนน้ำขึ้นสูงสุด", true},
		{"a few words", "See also the tides", "See also: the tides.", true},
		{"a few other words", "See also the tides", "See also the berths", false},
		{"a short text cut elsewhere", next, "Tides. " + next, false},
		{"nothing", "", "", false},
		{"no words", "---", "===", false},
		{"a table of other years", table(2021), table(2022), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := Repeated(t.Context(), []string{"Something else.", tc.first, tc.second})
			if err != nil {
				t.Fatal(err)
			}
			want := []int{0, 1, 2}
			if tc.want {
				want[2] = 1
			}
			if !slices.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

func table(year int) string {
	var b strings.Builder
	for month := range 12 {
		fmt.Fprintf(&b, "| %d-%02d | ships | %d |\n", year, month+1, 30+month)
	}
	return b.String()
}

// A text that repeats one that repeats another is of the first.
func TestTheFirstIsNamed(t *testing.T) {
	t.Parallel()
	got, err := Repeated(t.Context(), []string{gate, next, gate + " ", next, strings.ToUpper(gate)})
	if err != nil || !slices.Equal(got, []int{0, 1, 0, 1, 0}) {
		t.Error(got, err)
	}
}

// Many texts that share all but a number are compared in linear time.
func TestManyOfABoilerplate(t *testing.T) {
	t.Parallel()
	texts := make([]string, 1000)
	for n := range texts {
		texts[n] = fmt.Sprintf("Ship %d. ", n) + gate
	}
	got, err := Repeated(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	for n, first := range got {
		if n != first {
			t.Fatalf("text %d repeats %d", n, first)
		}
	}
}

func FuzzRepeated(f *testing.F) {
	for _, seed := range []string{"", gate, "a\xffb", "é\u0301", "闸门 gate 12", "a:b:c_d", strings.Repeat("o", 300)} {
		f.Add(seed, gate, next)
	}
	f.Fuzz(func(t *testing.T, a, b, c string) {
		got, err := Repeated(t.Context(), []string{a, b, c, a})
		if err != nil {
			t.Fatal(err)
		}
		for n, first := range got {
			if first > n || got[first] != first {
				t.Fatalf("%d of %v", n, got)
			}
		}
		if len(newPassage(a).words) > 0 && got[3] != got[0] {
			t.Errorf("the same text twice: %v", got)
		}
	})
}

// Ten passages of a kilobyte: of different words, and all the same but for a number.
func BenchmarkRepeated(b *testing.B) {
	words := strings.Fields(strings.Repeat(gate, 4))
	different, boilerplate := make([]string, 10), make([]string, 10)
	for n := range different {
		random := rand.New(rand.NewPCG(1, uint64(n)))
		random.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
		different[n] = strings.Join(words, " ")
		boilerplate[n] = strings.ReplaceAll(strings.Repeat(gate, 4), "gate", fmt.Sprintf("gate %d", n))
	}
	for name, texts := range map[string][]string{"different": different, "boilerplate": boilerplate} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := Repeated(b.Context(), texts); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
