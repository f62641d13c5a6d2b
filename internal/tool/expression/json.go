package expression

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"github.com/ragdhq/ragd/internal/tool/schema"
)

// adapter gives expressions JSON values. Whole numbers are int, others double.
type adapter struct{}

// NativeToValue implements types.Adapter.
func (a adapter) NativeToValue(value any) ref.Val {
	switch value := value.(type) {
	case map[string]any:
		return types.NewStringInterfaceMap(a, value)
	case []any:
		return types.NewDynamicList(a, value)
	case json.Number:
		return number(value)
	case float64:
		if whole := int64(value); float64(whole) == value && math.Abs(value) < 1<<53 {
			return types.Int(whole)
		}
	}
	return types.DefaultTypeAdapter.NativeToValue(value)
}

func number(n json.Number) ref.Val {
	if whole, err := strconv.ParseInt(string(n), 10, 64); err == nil {
		return types.Int(whole)
	}
	f, err := n.Float64()
	if err != nil {
		return types.NewErr("%s is no number of 64 bits", n)
	}
	return types.Double(f)
}

// writer turns results into JSON values and counts down what is left of their limits.
type writer struct{ bytes, values int }

var errTooLarge = fmt.Errorf("has a result of more than %d values or %d bytes", MaxValues, MaxResultBytes)

func (w *writer) json(v ref.Val, depth int) (any, error) {
	if w.values--; w.values < 0 || w.bytes < 0 {
		return nil, errTooLarge
	}
	if depth > schema.MaxDepth {
		return nil, fmt.Errorf("has a result that is nested deeper than %d levels", schema.MaxDepth)
	}
	w.bytes -= 8
	switch v := v.(type) {
	case types.Null:
		return nil, nil
	case types.Bool:
		return bool(v), nil
	case types.Int:
		return json.Number(strconv.FormatInt(int64(v), 10)), nil
	case types.Uint:
		return json.Number(strconv.FormatUint(uint64(v), 10)), nil
	case types.Double:
		return w.double(float64(v))
	case types.String:
		return w.text(string(v))
	case types.Bytes:
		return w.text(base64.StdEncoding.EncodeToString(v))
	case types.Timestamp:
		return v.Time.UTC().Format(time.RFC3339Nano), nil
	case types.Duration:
		return strconv.FormatFloat(v.Seconds(), 'f', -1, 64) + "s", nil
	case *types.Optional:
		if !v.HasValue() {
			return nil, nil
		}
		return w.json(v.GetValue(), depth)
	case traits.Mapper:
		return w.object(v, depth)
	case traits.Lister:
		return w.list(v, depth)
	}
	return nil, fmt.Errorf("has a result of type %s, which is not JSON", v.Type().TypeName())
}

func (w *writer) text(s string) (any, error) {
	if w.bytes -= len(s); w.bytes < 0 {
		return nil, errTooLarge
	}
	return s, nil
}

func (*writer) double(f float64) (any, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, errors.New("has a number in its result that JSON cannot hold: infinite, or none at all")
	}
	return json.Number(strconv.FormatFloat(f, 'g', -1, 64)), nil
}

func (w *writer) object(v traits.Mapper, depth int) (any, error) {
	out := map[string]any{}
	for it := v.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		name, ok := key.(types.String)
		if !ok {
			return nil, fmt.Errorf("has an object in its result with the key %v of type %s: keys must be texts", key.Value(), key.Type().TypeName())
		}
		w.bytes -= len(name)
		value, err := w.json(v.Get(key), depth+1)
		if err != nil {
			return nil, err
		}
		out[string(name)] = value
	}
	return out, nil
}

func (w *writer) list(v traits.Lister, depth int) (any, error) {
	out := []any{}
	for it := v.Iterator(); it.HasNext() == types.True; {
		value, err := w.json(it.Next(), depth+1)
		if err != nil {
			return nil, err
		}
		out = append(out, value)
	}
	return out, nil
}
