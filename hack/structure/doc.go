// Package structure tests the repository as a whole: which packages import which, that pages link to
// what exists, and that limits, tests and stages that pages name are those of the code.
package structure
