package caption_test

import (
	"testing"

	"github.com/ragdhq/ragd/internal/ingest/parse/caption"
)

func TestCaptionsAreToldFromSentences(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"Figure 3: The old harbour":             true,
		"Figure 3. The old harbour":             true,
		"Figure 3 The old harbour":              true,
		"Figure 3":                              true,
		"FIGURE 2-4 — Depths":                   true,
		"Fig. A.2 | Depths at low water":        true,
		"Fig 12a. Depths":                       true,
		"**Figure 1.** Depths":                  true,
		"###### Figure 1: Depths":               true,
		"Supplementary Fig. S3: Depths":         true,
		"Plate IV. A gull":                      true,
		"Abbildung 7: Der Kai":                  true,
		"Abb. 7 Der Kai":                        true,
		"Figura 2 – O cais":                     true,
		"Ilustración 2. El muelle":              true,
		"Schéma 1 : Le quai":                    true,
		"Рис. 4. Причал":                        true,
		"Рисунок 4 — Причал":                    true,
		"Şekil 5: Rıhtım":                       true,
		"3. ábra: A móló":                       true,
		"図3 港の地図":                               true,
		"图 2-1 港口":                              true,
		"圖三：碼頭":                                 true,
		"그림 2. 부두":                              true,
		"الشكل 3: الميناء":                      true,
		"Figure 3 shows the old harbour.":       false,
		"Figure 3, which shows the old harbour": false,
		"Figures 3 and 4 compare the two":       false,
		"Abbildung 7 zeigt den Kai":             false,
		"図3は港の地図である":                            false,
		"图2显示了港口":                               false,
		"그림 2는 부두를 보여 준다":                       false,
		"Figure skating is popular":             false,
		"Fig trees grow here":                   false,
		"Bilder des Hafens":                     false,
		"Map reading for beginners":             false,
		"Table 3: Depths":                       false,
		"In Figure 3 the harbour is shown":      false,
		"Image A380 of the manual":              false,
		"Figure 3 (left) shows the quay":        false,
		"":                                      false,
	} {
		if got := caption.IsFigure(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	for text, want := range map[string]bool{"Table 3: Depths": true, "Tabelle 2 Tiefen": true, "表1 水深": true, "Figure 3": false, "Tables are set": false} {
		if got := caption.IsTable(text); got != want {
			t.Errorf("table %q: %v, want %v", text, got, want)
		}
	}
}

func TestAlternativeTextsOfProgramsAreNone(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "image1.png", "IMG_2041.JPG", "Picture 3", "Grafik 12", "image", "Logo", "A picture containing text, indoor", "Chart, line chart Description automatically generated",
		"Ein Bild, das Text enthält. Automatisch generierte Beschreibung", "my holiday photo.jpeg", "https://example.com/a.png", "9f86d081884c7d659a2feaa0", "x", "図 1",
		"A diagram of a harbor AI-generated content may be incorrect.",
	} {
		if got := caption.Alternative(text); got != "" {
			t.Errorf("%q: %q", text, got)
		}
	}
	for _, text := range []string{"Gulls above the old pier", "Organigramm", "港の地図", "Bar chart of fees by month", "A person fixing a rope"} {
		if got := caption.Alternative(text); got != text {
			t.Errorf("%q: %q", text, got)
		}
	}
}
