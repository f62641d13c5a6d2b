// Package names finds what chunks may be called (titles, identifiers, paths,
// headings, defined terms) and where texts mention these names. It is pure.
//
// Names are compared by Key, a hash of their words without case, accents,
// punctuation and light English endings. A text is matched by looking up every
// short phrase in it, so matching is linear in the text whatever the number of
// names.
package names
