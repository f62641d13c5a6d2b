package config

import (
	"errors"
	"math"
	"strconv"

	"github.com/spf13/pflag"
)

// number is the value of a flag with a whole number or a fraction. It takes none that is
// negative or above most.
type number struct {
	pflag.Value
	most float64
}

// Most lets a number that is a setting be at most this.
func Most(flags *pflag.FlagSet, key string, most float64) {
	flag := flags.Lookup(key)
	flag.Value = number{flag.Value.(number).Value, most}
}

// boundNumber makes a flag with a number refuse negative ones, which no setting has.
func boundNumber(flag *pflag.Flag) {
	switch flag.Value.Type() {
	case "int", "int64", "float64":
		flag.Value = number{flag.Value, math.Inf(1)}
	}
}

// Set implements pflag.Value.
func (n number) Set(text string) error {
	if err := n.Value.Set(text); err != nil {
		return errors.New("want " + n.kind())
	}
	value, err := strconv.ParseFloat(n.String(), 64)
	if err != nil || !(value >= 0 && value <= n.most) { // also if it is not a number
		return errors.New("want " + n.kind())
	}
	return nil
}

// kind describes the values that n takes.
func (n number) kind() string {
	kind := "a number"
	if n.Type() != "float64" {
		kind = "a whole number"
	}
	if math.IsInf(n.most, 1) {
		return kind + ", 0 or more"
	}
	return kind + " from 0 to " + strconv.FormatFloat(n.most, 'g', -1, 64)
}
