module github.com/ragdhq/ragd

go 1.26.8

require github.com/google/go-cmp v0.7.0

require golang.org/x/text v0.43.0
