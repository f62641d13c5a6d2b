import { Anchor, Breadcrumbs, Text, Title } from "@mantine/core";
import { useEffect, type ReactNode } from "react";
import { Link } from "react-router";
import classes from "./Page.module.css";

/** Crumb is a page above the one that is shown. */
export interface Crumb {
  to: string;
  label: string;
}

interface Props {
  title: string;
  /** A sentence below the title. */
  about?: ReactNode;
  /** Pages above this one, the highest first. */
  crumbs?: Crumb[];
  /** Buttons beside the title. */
  actions?: ReactNode;
  children: ReactNode;
}

/** Page is the frame of a screen: the way to it, its title, actions, and the content. */
export function Page({ title, about, crumbs = [], actions, children }: Props) {
  useEffect(() => {
    document.title = `${title} · ragd`;
  }, [title]);
  return (
    <div className={classes.page}>
      <div className={classes.head}>
        <div className={classes.name}>
          {crumbs.length > 0 && (
            <Breadcrumbs component="nav" aria-label="Breadcrumbs" separatorMargin={4}>
              {crumbs.map((crumb) => <Anchor key={crumb.to} component={Link} to={crumb.to} size="sm">{crumb.label}</Anchor>)}
              <span />
            </Breadcrumbs>
          )}
          <Title order={1} className={classes.title} dir="auto">{title}</Title>
          {about && <Text c="dimmed" size="sm" component="div">{about}</Text>}
        </div>
        {actions && <div className={classes.actions}>{actions}</div>}
      </div>
      {children}
    </div>
  );
}

/** Panel is a box with a heading, one of several on a page. */
export function Panel({ title, actions, children }: { title?: string; actions?: ReactNode; children: ReactNode }) {
  return (
    <section className={classes.panel} aria-label={title}>
      {(title || actions) && (
        <div className={classes.panelHead}>
          {title && <Title order={2}>{title}</Title>}
          {actions}
        </div>
      )}
      {children}
    </section>
  );
}
