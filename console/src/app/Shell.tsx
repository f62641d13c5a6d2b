import { ActionIcon, Anchor, Burger, Button, Menu, Text, Tooltip, useComputedColorScheme, useMantineColorScheme } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconLogout, IconMoon, IconSun, IconUserCircle } from "@tabler/icons-react";
import { type ReactNode } from "react";
import { NavLink, useLocation } from "react-router";
import { Mark } from "./Mark";
import { linkOf, links, mayUse } from "./navigation";
import { PaletteButton } from "./palette/PaletteButton";
import { useSession } from "./session";
import { TenantSelect } from "./TenantSelect";
import classes from "./Shell.module.css";

/** Shell is what surrounds every screen: the bar at the top and the navigation. */
export function Shell({ children }: { children: ReactNode }) {
  const [open, menu] = useDisclosure(false);
  return (
    <div className={classes.shell}>
      <a className={classes.skip} href="#content">Skip to the content</a>
      <header className={classes.bar}>
        <Burger className={classes.burger} opened={open} onClick={menu.toggle} size="sm" aria-label="Navigation" aria-expanded={open} />
        <NavLink to="/" className={classes.brand}><Mark /> ragd</NavLink>
        <div className={classes.spacer} />
        <PaletteButton />
        <TenantSelect />
        <Scheme />
        <Who />
      </header>
      <Navigation open={open} onChosen={menu.close} />
      <main id="content" className={classes.content} tabIndex={-1}>{children}</main>
    </div>
  );
}

function Navigation({ open, onChosen }: { open: boolean; onChosen: () => void }) {
  const session = useSession();
  const { pathname } = useLocation();
  const current = linkOf(pathname);
  return (
    <nav className={classes.nav} data-open={open || undefined} aria-label="Main">
      {links.map((group) => {
        const shown = group.links.filter((link) => mayUse(link, session));
        if (shown.length === 0) return null;
        return (
          <div key={group.label} className={classes.group}>
            <div className={classes.label}>{group.label}</div>
            {shown.map((link) => (
              <NavLink key={link.to} to={link.to} onClick={onChosen} className={classes.link} data-active={link === current || undefined} aria-current={link === current ? "page" : undefined}>
                <link.icon size={18} stroke={1.6} aria-hidden /> {link.label}
              </NavLink>
            ))}
          </div>
        );
      })}
      <Text className={classes.version} size="xs" c="dimmed">
        <Anchor inherit underline="always" href="/api">API</Anchor> · <Anchor inherit underline="always" href="/console/licenses">Licences</Anchor> · ragd {session.info.version}
      </Text>
    </nav>
  );
}

function Scheme() {
  const { setColorScheme } = useMantineColorScheme();
  const scheme = useComputedColorScheme("light");
  const other = scheme === "light" ? "dark" : "light";
  return (
    <Tooltip label={`Use ${other} colours`}>
      <ActionIcon variant="subtle" color="gray" size="lg" onClick={() => setColorScheme(other)} aria-label={`Use ${other} colours`}>
        {scheme === "light" ? <IconMoon size={18} /> : <IconSun size={18} />}
      </ActionIcon>
    </Tooltip>
  );
}

function Who() {
  const session = useSession();
  return (
    <Menu position="bottom-end" withArrow>
      <Menu.Target>
        <Button variant="subtle" color="gray" size="compact-md" px={6} aria-label="Your access"><IconUserCircle size={20} /></Button>
      </Menu.Target>
      <Menu.Dropdown maw={320}>
        <Menu.Label>Signed in as</Menu.Label>
        <Text px="sm" size="sm" style={{ overflowWrap: "anywhere" }}>{session.who.subject}</Text>
        <Text px="sm" pb="xs" size="xs" c="dimmed">{session.who.scopes.join(", ")}{session.who.filtered && "; sees only documents that match its filter"}</Text>
        <Menu.Divider />
        <Menu.Item leftSection={<IconLogout size={16} />} onClick={() => void session.signOut()}>Sign out</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
