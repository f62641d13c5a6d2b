module github.com/ragdhq/ragd/bench/graph

go 1.26.8

require github.com/ragdhq/ragd v0.0.0

require gonum.org/v1/gonum v0.17.0

require golang.org/x/text v0.43.0 // indirect

replace github.com/ragdhq/ragd => ../..
