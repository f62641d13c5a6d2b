package pdftext

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLayout(t *testing.T) {
	t.Parallel()
	lines := []line{
		{text: "Gates", size: 20, across: 200},
		{text: "and locks", size: 20, across: 176},
		{text: "They open early,2", size: 10, across: 150},
		{text: "be-", size: 10, across: 138},
		{text: "fore flood.", size: 10, across: 126},
		{text: "Another paragraph.", size: 10, across: 100},
		{text: "It goes on.", size: 10, across: 88},
	}
	want := "# Gates and locks\n\nThey open early,2\nbefore flood.\n\nAnother paragraph.\nIt goes on."
	if diff := cmp.Diff(want, markdown(lines, 10)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestDatesOfFiles(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"D:20240229101530+01'00'": "2024-02-29T10:15:30+01:00", "D:20240229101530Z": "2024-02-29T10:15:30Z",
		"D:2024": "2024-01-01T00:00:00Z", "D:20241399": "", "yesterday": "", "": "",
	} {
		if got := date(text); got != want {
			t.Errorf("date(%q) = %q, want %q", text, got, want)
		}
	}
}

// The words stand as they are seen from left to right, here one letter for each.
func TestWordsWrittenFromRightToLeft(t *testing.T) {
	t.Parallel()
	for seen, want := range map[string]string{
		"plain words, all 3": "plain words, all 3",
		"ג ב א":              "א ב ג",
		"!ג two 4 ב ,א":      "א, ב two 4 ג!",
		"one two ב א three":  "one two א ב three",
		"one ב – א three":    "one א – ב three",
	} {
		if got := logical(seen); got != want {
			t.Errorf("logical(%q) = %q, want %q", seen, got, want)
		}
	}
}

func TestReadAFile(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("../testdata/files/handbook.pdf")
	if err != nil {
		t.Fatal(err)
	}
	f, err := Read(t.Context(), content, nil)
	if err != nil || len(f.Pages) != 2 || f.Title != "Harbour handbook" || f.Unreadable != 0 {
		t.Fatalf("file %+v, %v", f, err)
	}
	if !strings.Contains(f.Pages[1], "30 € a night") {
		t.Errorf("page 2 is %q", f.Pages[1])
	}
}

func TestAnEncryptedFile(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("../testdata/hostile/encrypted.pdf")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Read(t.Context(), content, nil); !errors.Is(err, ErrEncrypted) {
		t.Errorf("error %v", err)
	}
}
