package move_test

import "os"

// huge says that tests take minutes, to find what seldom happens.
var huge = os.Getenv("RAGD_TEST_HUGE") != ""
