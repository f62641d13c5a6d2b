package filter

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// Point is a place on the earth, in degrees.
type Point struct{ Lat, Lon float64 }

// earthRadius is the mean radius of the earth in meters, of a sphere.
const earthRadius = 6371008.8

// MaxPolygonPoints bounds the points of a $geoPolygon.
const MaxPolygonPoints = 200

// Keys of a point in metadata and in filters.
const (
	latKey = "lat"
	lonKey = "lon"
)

// Distance returns the length in meters of the shortest way from p to q on a sphere, by the haversine formula.
func (p Point) Distance(q Point) float64 {
	return 2 * earthRadius * math.Asin(math.Sqrt(min(1, p.haversine(q))))
}

// haversine returns the haversine of the angle between p and q: 0 for the same place, 1 for opposite ones.
func (p Point) haversine(q Point) float64 {
	lat, lon := math.Sin(radians(q.Lat-p.Lat)/2), math.Sin(radians(q.Lon-p.Lon)/2)
	return lat*lat + math.Cos(radians(p.Lat))*math.Cos(radians(q.Lat))*lon*lon
}

func radians(degrees float64) float64 { return degrees * math.Pi / 180 }

// ParsePoint reads a point from a decoded JSON value: {"lat": 52.5, "lon": 13.4}, in degrees, with other keys beside them.
func ParsePoint(v any) (p Point, ok bool) {
	object, isObject := v.(map[string]any)
	if !isObject {
		return p, false
	}
	var hasLat, hasLon bool
	p.Lat, hasLat = coordinate(object[latKey], 90)
	p.Lon, hasLon = coordinate(object[lonKey], 180)
	return p, hasLat && hasLon
}

// coordinate reads a number from -most to most.
func coordinate(v any, most float64) (float64, bool) {
	literal, ok := numberLiteral(v)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseFloat(literal, 64)
	return n, err == nil && math.Abs(n) <= most
}

// PointOf returns the point in a field of the metadata, which is named as in filters.
func PointOf(metadata map[string]any, field string) (Point, bool) {
	return ParsePoint(parsePath(field).find(metadata))
}

// area is a part of the surface of the earth.
type area interface {
	// has reports whether a point is in the area.
	has(p Point) bool
	// sql returns SQL that is true if a point is in the area, given SQL for its latitude and longitude as float8.
	sql(c *compiler, lat, lon string) string
	// box returns a box around the area.
	box() box
}

// box is an area between two parallels and two meridians, from west to east, over the antimeridian if west is greater than east.
type box struct{ south, north, west, east float64 }

func (b box) has(p Point) bool {
	if p.Lat < b.south || p.Lat > b.north {
		return false
	}
	if b.west <= b.east {
		return p.Lon >= b.west && p.Lon <= b.east
	}
	return p.Lon >= b.west || p.Lon <= b.east
}

func (b box) box() box { return b }

func (b box) sql(c *compiler, lat, lon string) string {
	return b.conditions(lat, lon, func(x float64) string { return c.float(x) })
}

// conditions returns SQL for a point in the box. bind binds a number.
func (b box) conditions(lat, lon string, bind func(float64) string) string {
	operator := " AND "
	if b.west > b.east {
		operator = " OR "
	}
	all := []string{lat + " >= " + bind(b.south), lat + " <= " + bind(b.north)}
	if b.west > -180 || b.east < 180 {
		all = append(all, "("+lon+" >= "+bind(b.west)+operator+lon+" <= "+bind(b.east)+")")
	}
	return strings.Join(all, " AND ")
}

// boxSlack is added to a box around an area, for errors of rounding, in degrees.
const boxSlack = 1e-9

// circle is the area of all points that are no farther than radius from the center.
type circle struct {
	center Point
	radius float64 // meters
}

// limit returns the haversine of the angle of the radius.
func (a circle) limit() float64 {
	angle := a.radius / earthRadius
	if angle >= math.Pi {
		return 1
	}
	half := math.Sin(angle / 2)
	return half * half
}

func (a circle) has(p Point) bool { return min(1, a.center.haversine(p)) <= a.limit() }

func (a circle) sql(c *compiler, lat, lon string) string {
	return "least(1, " + a.center.haversineSQL(c, lat, lon) + ") <= " + c.float(a.limit())
}

// haversineSQL returns SQL for the haversine of the angle between p and a point.
func (p Point) haversineSQL(c *compiler, lat, lon string) string {
	fromLat, fromLon := c.float(p.Lat), c.float(p.Lon)
	return "power(sin(radians(" + lat + " - " + fromLat + ") / 2), 2) + cos(radians(" + fromLat + ")) * cos(radians(" + lat + ")) * power(sin(radians(" + lon + " - " + fromLon + ") / 2), 2)"
}

func (a circle) box() box {
	angle := a.radius / earthRadius * 180 / math.Pi
	b := box{max(-90, a.center.Lat-angle-boxSlack), min(90, a.center.Lat+angle+boxSlack), -180, 180}
	if b.south == -90 || b.north == 90 { // a pole, where all meridians meet
		return b
	}
	ratio := math.Sin(radians(angle)) / math.Cos(radians(a.center.Lat))
	if ratio >= 1 {
		return b
	}
	width := math.Asin(ratio)*180/math.Pi + boxSlack
	b.west, b.east = wrapped180(a.center.Lon-width), wrapped180(a.center.Lon+width)
	return b
}

// wrapped180 returns a longitude from -180 to 180.
func wrapped180(lon float64) float64 {
	switch {
	case lon < -180:
		return lon + 360
	case lon > 180:
		return lon - 360
	}
	return lon
}

// polygon is the area in a closed line. Between two points it is straight in degrees, and goes the shorter way around the
// earth: the longitudes go on beyond 180 or -180 where it crosses the antimeridian.
type polygon struct{ lats, lons []float64 }

// polygonOf returns the polygon with these corners. ok is false if it goes around a pole.
func polygonOf(points []Point) (a polygon, ok bool) {
	lon := points[0].Lon
	for n, p := range points {
		if n > 0 {
			lon += shorter(p.Lon - points[n-1].Lon)
		}
		a.lats, a.lons = append(a.lats, p.Lat), append(a.lons, lon)
	}
	return a, math.Abs(lon+shorter(points[0].Lon-points[len(points)-1].Lon)-points[0].Lon) < 180
}

// shorter returns the difference of two longitudes the shorter way around the earth.
func shorter(difference float64) float64 {
	switch {
	case difference > 180:
		return difference - 360
	case difference < -180:
		return difference + 360
	}
	return difference
}

func (a polygon) has(p Point) bool {
	for _, turn := range []float64{-360, 0, 360} {
		if a.hasUnwrapped(p.Lat, p.Lon+turn) {
			return true
		}
	}
	return false
}

// hasUnwrapped counts the edges north of a point, which are an odd number for one in the polygon.
func (a polygon) hasUnwrapped(lat, lon float64) (inside bool) {
	for n := range a.lats {
		m := (n + 1) % len(a.lats)
		if (a.lons[n] > lon) != (a.lons[m] > lon) && lat < (a.lats[m]-a.lats[n])*(lon-a.lons[n])/(a.lons[m]-a.lons[n])+a.lats[n] {
			inside = !inside
		}
	}
	return inside
}

func (a polygon) sql(c *compiler, lat, lon string) string {
	next := func(list []float64) []float64 { return slices.Concat(list[1:], list[:1]) }
	return "EXISTS (SELECT FROM (VALUES (-360), (0), (360)) AS turn(by) WHERE (SELECT count(*) % 2 = 1 FROM unnest(" +
		c.floats(a.lats) + ", " + c.floats(a.lons) + ", " + c.floats(next(a.lats)) + ", " + c.floats(next(a.lons)) + ") AS edge(lat, lon, lat2, lon2) " +
		"WHERE (edge.lon > " + lon + " + turn.by) <> (edge.lon2 > " + lon + " + turn.by) " +
		"AND " + lat + " < (edge.lat2 - edge.lat) * (" + lon + " + turn.by - edge.lon) / (edge.lon2 - edge.lon) + edge.lat))"
}

func (a polygon) box() box {
	b := box{a.lats[0], a.lats[0], a.lons[0], a.lons[0]}
	for n := range a.lats {
		b.south, b.north = min(b.south, a.lats[n]), max(b.north, a.lats[n])
		b.west, b.east = min(b.west, a.lons[n]), max(b.east, a.lons[n])
	}
	if b.east-b.west >= 360 {
		b.west, b.east = -180, 180
	}
	b.south, b.north = max(-90, b.south-boxSlack), min(90, b.north+boxSlack)
	if b.west > -180 || b.east < 180 {
		b.west, b.east = wrapped180(b.west-boxSlack), wrapped180(b.east+boxSlack)
	}
	return b
}
