package filter

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// angleOf returns the angle between two points by their vectors, another way than the haversine formula.
func angleOf(p, q Point) float64 {
	vector := func(p Point) [3]float64 {
		lat, lon := p.Lat*math.Pi/180, p.Lon*math.Pi/180
		return [3]float64{math.Cos(lat) * math.Cos(lon), math.Cos(lat) * math.Sin(lon), math.Sin(lat)}
	}
	a, b := vector(p), vector(q)
	cross := math.Hypot(math.Hypot(a[1]*b[2]-a[2]*b[1], a[2]*b[0]-a[0]*b[2]), a[0]*b[1]-a[1]*b[0])
	return math.Atan2(cross, a[0]*b[0]+a[1]*b[1]+a[2]*b[2])
}

// place returns a point at random: a third near the poles, a third near the antimeridian.
func place(random *rand.Rand) Point {
	p := Point{random.Float64()*180 - 90, random.Float64()*360 - 180}
	switch random.IntN(3) {
	case 0:
		p.Lat = math.Copysign(90-random.Float64()*3, p.Lat)
	case 1:
		p.Lon = math.Copysign(180-random.Float64()*3, p.Lon)
	}
	return p
}

func pointJSON(p Point) map[string]any { return map[string]any{"lat": p.Lat, "lon": p.Lon} }

func TestDistanceIsThatOfTheSphere(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		p, q := place(random), place(random)
		if got, want := p.Distance(q), 6371008.8*angleOf(p, q); math.Abs(got-want) > 1 {
			t.Fatalf("%v to %v: %f m, want %f", p, q, got, want)
		}
	}
	if berlin, paris := (Point{52.52, 13.405}), (Point{48.8566, 2.3522}); math.Abs(berlin.Distance(paris)-877_460) > 500 {
		t.Errorf("Berlin to Paris: %f m", berlin.Distance(paris))
	}
}

// The database and memory select the same points as an oracle: across the antimeridian, at the poles, negated, and with Postgres indexes
// on the coordinates.
func TestAreasSelectTheSamePointsAsAnOracle(t *testing.T) {
	t.Parallel()
	conn := connect(t)
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 7))
	var rows []goldenRow
	points := map[string]Point{}
	for n := range 600 {
		id := fmt.Sprintf("r%04d", n)
		points[id] = place(random)
		rows = append(rows, goldenRow{id, map[string]any{"at": pointJSON(points[id])}})
	}
	for n, other := range []any{nil, "52,13", 7.0, []any{pointJSON(Point{1, 1})}, map[string]any{"lat": 1.0}, map[string]any{"lat": 91.0, "lon": 0.0}, map[string]any{"lat": "1", "lon": 1.0}, map[string]any{"lat": 0.0, "lon": -180.5}} {
		rows = append(rows, goldenRow{fmt.Sprintf("s%d", n), map[string]any{"at": other}})
	}
	rows = append(rows, goldenRow{"s9", map[string]any{}})
	load(t, conn, rows, []string{"at.lat", "at.lon"})
	for range 120 {
		center := place(random)
		var condition map[string]any
		var has func(Point) bool
		switch random.IntN(3) {
		case 0:
			radius := math.Pow(10, 3+random.Float64()*4.4)
			condition = map[string]any{"$geoRadius": map[string]any{"center": pointJSON(center), "radius": radius}}
			has = func(p Point) bool { return 6371008.8*angleOf(center, p) <= radius }
		case 1:
			other := place(random)
			north, south := max(center.Lat, other.Lat), min(center.Lat, other.Lat)
			condition = map[string]any{"$geoBox": map[string]any{"topLeft": pointJSON(Point{north, center.Lon}), "bottomRight": pointJSON(Point{south, other.Lon})}}
			width := math.Mod(other.Lon-center.Lon+720, 360)
			has = func(p Point) bool {
				return p.Lat >= south && p.Lat <= north && math.Mod(p.Lon-center.Lon+720, 360) <= width
			}
		default: // a rhombus: its points are those whose parts of both diagonals are together at most 1
			height, width := 0.1+random.Float64()*(90-math.Abs(center.Lat)), 1+random.Float64()*80
			height = min(height, 90-math.Abs(center.Lat))
			if height <= 0 {
				continue
			}
			corners := []any{}
			for _, d := range [][2]float64{{height, 0}, {0, width}, {-height, 0}, {0, -width}} {
				corners = append(corners, pointJSON(Point{center.Lat + d[0], wrapped180(center.Lon + d[1])}))
			}
			condition = map[string]any{"$geoPolygon": map[string]any{"points": corners}}
			has = func(p Point) bool {
				away := math.Mod(math.Abs(p.Lon-center.Lon), 360)
				return math.Abs(p.Lat-center.Lat)/height+min(away, 360-away)/width <= 1
			}
		}
		for _, negated := range []bool{false, true} {
			raw := map[string]any{"at": condition}
			if negated {
				raw = map[string]any{"$not": raw}
			}
			f, err := Parse(raw)
			if err != nil {
				t.Fatalf("%v: %v", raw, err)
			}
			want, memory := []string{}, []string{}
			for _, row := range rows {
				if p, isPoint := points[row.ID]; isPoint && has(p) != negated {
					want = append(want, row.ID)
				}
				if f.Match(row.Metadata) {
					memory = append(memory, row.ID)
				}
			}
			if diff := cmp.Diff(want, memory); diff != "" {
				t.Fatalf("seed %d: %s in memory (-want +got):\n%s", seed, f, diff)
			}
			execution := executions[random.IntN(len(executions))]
			execute(t, conn, "SET enable_seqscan = "+execution.seqscan)
			got, err := selectIDs(t.Context(), conn, execution.mode, f)
			if err != nil {
				t.Fatalf("%s by %s: %v", f, execution.name, err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("seed %d: %s by %s (-want +got):\n%s", seed, f, execution.name, diff)
			}
		}
	}
}

// The box around an area has all points of the area.
func TestTheBoxAroundAnAreaHoldsIt(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(5, 5))
	for range 3000 {
		center := place(random)
		a := circle{center, math.Pow(10, random.Float64()*7.3)}
		for range 20 {
			p := place(random)
			if random.IntN(2) == 0 { // near the edge
				p = Point{min(90, max(-90, center.Lat+(random.Float64()-0.5)*3*a.radius/111_000)), wrapped180(center.Lon + (random.Float64()-0.5)*min(360, 3*a.radius/111_000))}
			}
			if a.has(p) && !a.box().has(p) {
				t.Fatalf("%v of %v is not in %v", p, a, a.box())
			}
		}
	}
}

func TestAreasRefuseWhatIsNone(t *testing.T) {
	t.Parallel()
	point := `{"lat": 1, "lon": 2}`
	for text, want := range map[string]string{
		`{"$geoRadius": 5}`: "filter.at.$geoRadius: requires an object",
		`{"$geoRadius": {"center": {"lat": 91, "lon": 0}, "radius": 1}}`:                               "filter.at.$geoRadius.center: must be a point",
		`{"$geoRadius": {"center": ` + point + `}}`:                                                    "filter.at.$geoRadius: needs a radius",
		`{"$geoRadius": {"center": ` + point + `, "radius": -1}}`:                                      "filter.at.$geoRadius: needs a radius",
		`{"$geoRadius": {"center": ` + point + `, "radius": 1, "unit": "km"}}`:                         "has the unknown key unit",
		`{"$geoBox": {"topLeft": ` + point + `}}`:                                                      "filter.at.$geoBox.bottomRight: must be a point",
		`{"$geoBox": {"topLeft": ` + point + `, "bottomRight": {"lat": 3, "lon": 5}}}`:                 "exchange the latitudes",
		`{"$geoPolygon": {"points": [` + point + `, ` + point + `]}}`:                                  "filter.at.$geoPolygon.points: must be a list of 3 to 200",
		`{"$geoPolygon": {"points": [` + point + `, ` + point + `, 3]}}`:                               "filter.at.$geoPolygon.points[2]: must be a point",
		`{"$geoPolygon": {"points": [{"lat":80,"lon":0},{"lat":80,"lon":120},{"lat":80,"lon":-120}]}}`: "must not go around a pole",
	} {
		if _, err := Parse([]byte(`{"at": ` + text + `}`)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	f, err := Parse([]byte(`{"at": {"$geoRadius": {"center": ` + point + `, "radius": 1}}}`))
	if err != nil || !slices.Equal(f.Fields(), []string{"at"}) {
		t.Errorf("fields %v, %v", f.Fields(), err)
	}
}
