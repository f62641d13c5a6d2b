import { convertCssVariables, defaultCssVariablesResolver, mergeMantineTheme, DEFAULT_THEME } from "@mantine/core";
import type { Plugin } from "vite";
import { theme, variables } from "./src/app/theme.ts";

const id = "virtual:theme.css";

/**
 * themeStyles writes the CSS variables of the theme into a stylesheet. Mantine would insert them
 * as a <style> element when the page starts, which the page's Content-Security-Policy forbids.
 */
export function themeStyles(): Plugin {
  return {
    name: "theme-styles",
    resolveId: (source) => (source === id ? `\0${id}` : undefined),
    load(source) {
      if (source !== `\0${id}`) return undefined;
      const merged = mergeMantineTheme(DEFAULT_THEME, theme);
      const all = defaultCssVariablesResolver(merged);
      const own = variables(merged);
      return convertCssVariables(
        {
          variables: { ...all.variables, ...own.variables },
          light: { ...all.light, ...own.light },
          dark: { ...all.dark, ...own.dark },
        },
        ":root",
      );
    },
  };
}
