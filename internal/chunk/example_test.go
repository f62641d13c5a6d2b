package chunk_test

import (
	"context"
	"fmt"

	"github.com/ragdhq/ragd/internal/chunk"
)

func ExampleSplit() {
	text := "# Bees\n\nBees make honey. They live in hives.\n\n## Hives\n\nA hive has one queen.\n"
	opts, err := chunk.Settings{Strategy: chunk.Markdown, MaxSize: new(50), Overlap: new(0)}.Options()
	if err != nil {
		fmt.Println(err)
		return
	}
	chunks, err := chunk.Split(context.Background(), text, opts)
	if err != nil {
		fmt.Println(err)
		return
	}
	chunk.Locate(text, opts, chunks)
	for _, c := range chunks {
		fmt.Printf("%d-%d %v %q\n", c.StartByte, c.EndByte, c.Metadata["headings"], c.Text)
	}
	// Output:
	// 0-44 [Bees] "# Bees\n\nBees make honey. They live in hives."
	// 46-77 [Bees Hives] "## Hives\n\nA hive has one queen."
}

func ExampleSettings_Options() {
	_, err := chunk.Settings{MaxSize: new(100), Overlap: new(100), JoinThreshold: new(5)}.Options()
	fmt.Println(err)
	// Output:
	// joinThreshold: not an option of the recursive strategy; it knows addStartIndex, includeHidden, isSeparatorRegex, keepSeparator, language, maxSize, overlap, separator, separatorPosition, separators, size, stripWhitespace; overlap: must be smaller than maxSize (100), got 100
}
