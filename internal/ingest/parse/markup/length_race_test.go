//go:build race

package markup

// longText is the length in bytes of texts whose reading is linear. With the race detector it takes twenty
// times as long, so that other runs have the long ones.
const longText = 8 << 10
