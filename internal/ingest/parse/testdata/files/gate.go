package main

// main opens the gate.
func main() {}
