import { UnstyledButton } from "@mantine/core";
import { useDisclosure, useHotkeys } from "@mantine/hooks";
import { IconSearch } from "@tabler/icons-react";
import { lazy, Suspense, useRef, useState } from "react";
import classes from "./PaletteButton.module.css";

const Palette = lazy(() => import("./Palette"));

const command = /Mac|iPhone|iPad/.test(navigator.userAgent) ? "⌘" : "Ctrl";

/** PaletteButton opens the palette, as Ctrl-K or Cmd-K does. */
export function PaletteButton() {
  const [opened, palette] = useDisclosure(false);
  const [wanted, setWanted] = useState(false); // it is loaded when it is opened first
  const before = useRef<HTMLElement>(null); // what had the focus
  const toggle = () => {
    if (opened) return close();
    before.current = document.activeElement as HTMLElement;
    setWanted(true);
    palette.open();
  };
  const close = (chosen?: boolean) => {
    palette.close();
    if (chosen) document.getElementById("content")?.focus({ preventScroll: true });
    else before.current?.focus();
  };
  useHotkeys([["mod+K", toggle]], []);
  return (
    <>
      <UnstyledButton className={classes.button} onClick={toggle} aria-haspopup="dialog" aria-keyshortcuts="Control+K Meta+K">
        <IconSearch size={16} aria-hidden />
        <span className={classes.text}>Find or do something</span>
        <kbd>{command} K</kbd>
      </UnstyledButton>
      {wanted && <Suspense><Palette opened={opened} onClose={close} /></Suspense>}
    </>
  );
}
