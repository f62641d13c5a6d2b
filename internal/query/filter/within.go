package filter

import (
	"math"
	"strconv"
)

// within is true for a point in an area, false for one outside, and unknown for everything else.
type within struct {
	path path
	area area
}

// geo reads $geoRadius, $geoBox or $geoPolygon.
func (p *parser) geo(operator string, field path, v any, at location) (node, error) {
	object, ok := v.(map[string]any)
	if !ok {
		return nil, at.refuse("requires an object, such as %s", geoExamples[operator])
	}
	allowed := geoKeys[operator]
	for _, key := range sortedKeys(object) {
		if key != allowed[0] && key != allowed[len(allowed)-1] {
			return nil, at.refuse("has the unknown key %s; it is such as %s", shown(key), geoExamples[operator])
		}
	}
	var err error
	switch operator {
	case "$geoRadius":
		a := circle{}
		if a.center, err = pointAt(object["center"], at.key("center")); err != nil {
			return nil, err
		}
		literal, isNumber := numberLiteral(object["radius"])
		a.radius, err = strconv.ParseFloat(literal, 64)
		if !isNumber || err != nil || !(a.radius >= 0) || math.IsInf(a.radius, 0) {
			return nil, at.refuse("needs a radius: a number of meters that is not negative")
		}
		return within{field, a}, nil
	case "$geoBox":
		northWest, err := pointAt(object["topLeft"], at.key("topLeft"))
		if err != nil {
			return nil, err
		}
		southEast, err := pointAt(object["bottomRight"], at.key("bottomRight"))
		if err != nil {
			return nil, err
		}
		if southEast.Lat > northWest.Lat {
			return nil, at.refuse("has its bottomRight (lat %g) north of its topLeft (lat %g): exchange the latitudes", southEast.Lat, northWest.Lat)
		}
		return within{field, box{southEast.Lat, northWest.Lat, northWest.Lon, southEast.Lon}}, nil
	}
	list, ok := object["points"].([]any)
	corners := at.key("points")
	if !ok || len(list) < 3 || len(list) > MaxPolygonPoints {
		return nil, corners.refuse("must be a list of 3 to %d points, the corners in their order", MaxPolygonPoints)
	}
	if err := p.nest(at, len(list)); err != nil {
		return nil, err
	}
	points := make([]Point, len(list))
	for n := range list {
		if points[n], err = pointAt(list[n], corners.element(n)); err != nil {
			return nil, err
		}
	}
	a, ok := polygonOf(points)
	if !ok {
		return nil, corners.refuse("must not go around a pole: use $geoRadius around the pole, or a $geoBox that ends at latitude 90 or -90")
	}
	return within{field, a}, nil
}

// pointAt reads a point of a filter.
func pointAt(v any, at location) (Point, error) {
	point, ok := ParsePoint(v)
	if !ok {
		return point, at.refuse(`must be a point such as {"lat": 52.52, "lon": 13.4}, with lat from -90 to 90 and lon from -180 to 180 degrees`)
	}
	return point, nil
}

var geoKeys = map[string][]string{"$geoRadius": {"center", "radius"}, "$geoBox": {"topLeft", "bottomRight"}, "$geoPolygon": {"points"}}

var geoExamples = map[string]string{
	"$geoRadius":  `{"center": {"lat": 52.52, "lon": 13.4}, "radius": 1500}, in meters`,
	"$geoBox":     `{"topLeft": {"lat": 52.7, "lon": 13.1}, "bottomRight": {"lat": 52.3, "lon": 13.8}}`,
	"$geoPolygon": `{"points": [{"lat": 52.7, "lon": 13.1}, {"lat": 52.7, "lon": 13.8}, {"lat": 52.3, "lon": 13.4}]}`,
}

func (n within) truth(v any) truth {
	point, ok := ParsePoint(n.path.find(v))
	if !ok {
		return unknown
	}
	return truthOf(n.area.has(point))
}

// sql tests the box around the area first, in the form in which Postgres indexes on the fields lat and lon serve it.
func (n within) sql(c *compiler, at string, want bool) string {
	inside := c.ofPoint(at, n.path, func(lat, lon string) string { return n.area.sql(c, lat, lon) })
	if !want {
		return "NOT " + inside
	}
	around := n.area.box().conditions(c.number(at, n.path.below(path{latKey})), c.number(at, n.path.below(path{lonKey})), func(x float64) string {
		return c.args.Add(formatFloat(x)) + "::numeric"
	})
	return "(" + around + " AND " + inside + ")"
}

// ofPoint returns SQL for an expression of the latitude and the longitude at p as float8, which are read once; NULL where no point is.
func (c *compiler) ofPoint(at string, p path, expression func(lat, lon string) string) string {
	point := c.element()
	lat, lon := point+".lat", point+".lon"
	return "(SELECT CASE WHEN " + lat + " BETWEEN -90 AND 90 AND " + lon + " BETWEEN -180 AND 180 THEN " + expression(lat+"::float8", lon+"::float8") + " END FROM (SELECT " +
		c.number(at, p.below(path{latKey})) + " AS lat, " + c.number(at, p.below(path{lonKey})) + " AS lon OFFSET 0) AS " + point + ")"
}

// float binds a number as float8.
func (c *compiler) float(x float64) string {
	return c.args.Add(strconv.FormatFloat(x, 'g', -1, 64)) + "::float8"
}

// floats binds numbers as an array of float8.
func (c *compiler) floats(list []float64) string {
	texts := make([]string, len(list))
	for n, x := range list {
		texts[n] = strconv.FormatFloat(x, 'g', -1, 64)
	}
	return c.args.Add(texts) + "::text[]::float8[]"
}

func (within) needs(bool) [][]string   { return nil }
func (n within) walk(visit func(path)) { visit(n.path) }
