//go:build !race

package markup

// longText is the length in bytes of texts whose reading is linear.
const longText = 512 << 10
