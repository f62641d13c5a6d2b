import { ActionIcon, CopyButton, Tooltip } from "@mantine/core";
import { IconCheck, IconCopy } from "@tabler/icons-react";
import classes from "./Code.module.css";

/** Code shows a text in a fixed-width font, with a button that copies it. */
export function Code({ text, label = "Copy" }: { text: string; label?: string }) {
  return (
    <div className={classes.box}>
      <pre className={classes.text} tabIndex={0}>{text}</pre>
      <CopyButton value={text} timeout={1500}>
        {({ copied, copy }) => (
          <Tooltip label={copied ? "Copied" : label}>
            <ActionIcon className={classes.copy} variant="subtle" color="gray" onClick={copy} aria-label={copied ? "Copied" : label}>
              {copied ? <IconCheck size={16} /> : <IconCopy size={16} />}
            </ActionIcon>
          </Tooltip>
        )}
      </CopyButton>
    </div>
  );
}
