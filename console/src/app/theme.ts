import { createTheme, type ConvertCSSVariablesInput, type MantineColorsTuple, type MantineTheme } from "@mantine/core";

const tide: MantineColorsTuple = [
  "#eaf6f3", "#d7ebe6", "#acd6cc", "#7ec0b1", "#59ae9b", "#41a38d", "#2f8f7a", "#2b6a5f", "#1f554b", "#123f37",
];

/** medium is the weight of what is named or pressed: of text that stands out, 600 is for headings alone. */
const medium = { fontWeight: 500 };

/** theme is the look of the console: one accent, square-ish corners, the system's fonts in four sizes (22, 16, 14 and 12 px). */
export const theme = createTheme({
  primaryColor: "tide",
  primaryShade: { light: 7, dark: 7 },
  colors: { tide },
  defaultRadius: "sm",
  fontFamily: "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'Helvetica Neue', sans-serif",
  fontFamilyMonospace: "ui-monospace, SFMono-Regular, Menlo, Consolas, 'Liberation Mono', monospace",
  headings: { fontWeight: "600", sizes: { h1: { fontSize: "1.375rem", lineHeight: "1.35" }, h2: { fontSize: "1rem", lineHeight: "1.5" }, h3: { fontSize: "0.875rem", lineHeight: "1.5" } } },
  cursorType: "pointer",
  components: {
    // Locking the page's scrolling inserts a <style> element, which the page's policy forbids.
    Modal: { defaultProps: { lockScroll: false, closeButtonProps: { "aria-label": "Close" } } },
    Drawer: { defaultProps: { lockScroll: false, closeButtonProps: { "aria-label": "Close" } } },
    Text: { defaultProps: { size: "sm" } },
    Anchor: { defaultProps: { size: "sm" } },
    Table: { defaultProps: { fz: "sm" } },
    Button: { styles: { label: medium } },
    Badge: { styles: { label: medium } },
    SegmentedControl: { styles: { label: medium } },
    InputWrapper: { styles: { label: medium } },
    Tooltip: { defaultProps: { withArrow: true, openDelay: 300 } },
  },
});

const accents = ["tide", "blue", "red", "green", "yellow", "orange", "grape", "gray", "teal", "violet", "cyan", "indigo", "pink"];

/** variables overrides CSS variables of Mantine so that text has a contrast of at least 4.5. */
export function variables(theme: MantineTheme): ConvertCSSVariablesInput {
  const light: Record<string, string> = {
    "--mantine-color-dimmed": theme.colors.gray![7],
    "--mantine-color-placeholder": theme.colors.gray![7],
    "--mantine-color-error": theme.colors.red![9],
    "--mantine-color-anchor": theme.colors.tide![7],
  };
  const dark: Record<string, string> = {
    "--mantine-color-dimmed": theme.colors.dark![1],
    "--mantine-color-placeholder": theme.colors.dark![1],
    "--mantine-color-error": theme.colors.red![4],
    "--mantine-color-anchor": theme.colors.tide![3],
    "--mantine-primary-color-light-color": theme.colors.tide![2],
  };
  dark["--mantine-color-gray-light"] = theme.colors.dark![5];
  for (const color of accents) {
    const shades = theme.colors[color];
    if (!shades) continue;
    light[`--mantine-color-${color}-light-color`] = `color-mix(in srgb, ${shades[9]} 70%, black)`;
    light[`--mantine-color-${color}-filled`] = shades[color === "tide" ? 7 : 9];
    light[`--mantine-color-${color}-filled-hover`] = shades[color === "tide" ? 8 : 9];
    light[`--mantine-color-${color}-outline`] = shades[9];
    light[`--mantine-color-${color}-text`] = `color-mix(in srgb, ${shades[9]} 85%, black)`;
    dark[`--mantine-color-${color}-light-color`] = shades[2];
    dark[`--mantine-color-${color}-filled`] = shades[color === "tide" ? 7 : 9];
    dark[`--mantine-color-${color}-filled-hover`] = shades[8];
    dark[`--mantine-color-${color}-outline`] = shades[3];
    dark[`--mantine-color-${color}-text`] = shades[3];
  }
  return { variables: {}, light, dark };
}
