import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import path from "node:path";
import test from "node:test";
import { accessible, call, newTenant, openPage, operator, upload } from "./console.mjs";

const folder = path.join(process.env.RAGD_TEST_DIR, "data/ragd/postgres/cluster"); // where the socket of the service's PostgreSQL is
const versions = "/usr/lib/postgresql"; // Debian leaves out of PATH what is not of the newest
const psql = (existsSync(versions) ? readdirSync(versions) : []).map((version) => `${versions}/${version}/bin/psql`).findLast(existsSync) ?? "psql";

/** newDatabase makes another database on the service's PostgreSQL, and returns its URL. */
function newDatabase(name) {
  const sql = (database, ...statements) => execFileSync(psql, ["-XqAt", "-h", folder, "-U", "ragd", "-d", database, ...statements.flatMap((statement) => ["-c", statement])], { encoding: "utf8" });
  sql("postgres", `CREATE DATABASE ${name}`);
  sql(name, "CREATE EXTENSION vector");
  return `postgres:///${name}?${new URLSearchParams({ host: folder, user: "ragd" })}`;
}

test("the operator registers a database and moves a tenant there", async (t) => {
  const tenant = await newTenant();
  await upload(tenant, "docs", { "gate.md": "# Gate\n\nIt opens at noon." });
  const url = newDatabase("east");
  const page = await openPage(t, { key: operator, path: "/databases" });
  await page.getByRole("row", { name: /main/ }).getByText("answers").waitFor();
  await accessible(page);
  await page.getByRole("button", { name: "Register a database" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("east");
  await dialog.getByRole("textbox", { name: "URL" }).fill(url);
  await dialog.getByRole("textbox", { name: "Connections" }).fill("4");
  await accessible(page);
  await dialog.getByRole("button", { name: "Register" }).click();
  await page.getByRole("row", { name: /east/ }).getByText("answers").waitFor();
  await page.getByRole("button", { name: "Change east" }).click();
  await dialog.getByRole("textbox", { name: "Connections" }).fill("5");
  await dialog.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved.").waitFor();
  const { databases } = await call(operator, "DatabaseService/ListDatabases");
  assert.equal(databases.find((database) => database.databaseName === "east").maxConnections, 5);

  await page.goto(new URL(`/tenants/${tenant.tenantId}`, page.url()).href);
  const home = page.getByRole("region", { name: "Database" });
  await home.getByText("It lives in the database main.").waitFor();
  await home.getByRole("combobox", { name: "Move it to" }).click();
  await page.getByRole("option", { name: "east" }).click();
  await home.getByRole("button", { name: "Move" }).click();
  await accessible(page);
  await page.getByRole("dialog").getByRole("button", { name: "Move" }).click();
  await home.getByRole("row", { name: /main east (dropping|done)/ }).waitFor();
  await home.getByText("It lives in the database east.").waitFor();
  assert.equal((await tenant.call("DocumentService/ListDocuments", { indexName: "docs" })).documents.length, 1);
  await accessible(page);

  await page.goto(new URL("/databases?tab=moves", page.url()).href);
  await page.getByRole("link", { name: tenant.tenantId }).waitFor();
  await accessible(page);
  await page.getByRole("tab", { name: "Secrets" }).click();
  await page.getByRole("button", { name: "Encrypt all secrets anew" }).click();
  await page.getByRole("status").getByText("encrypted with another key").waitFor();
});

test("a database with a tenant is not removed, one without is", async (t) => {
  const url = newDatabase("west");
  await call(operator, "DatabaseService/RegisterDatabase", { databaseName: "west", url });
  const tenantId = `west-${process.pid}`;
  const page = await openPage(t, { key: operator, path: "/tenants", width: 390, scheme: "dark", allowErrors: true });
  await page.getByRole("button", { name: "Create a tenant" }).first().click();
  await page.getByLabel("Id").fill(tenantId);
  await page.getByRole("combobox", { name: "Database" }).click();
  await page.getByRole("option", { name: "west" }).click();
  await accessible(page);
  await page.getByRole("button", { name: "Create", exact: true }).click();
  await page.getByText("It lives in the database west.").waitFor();
  await accessible(page);

  await page.goto(new URL("/databases", page.url()).href);
  const remove = async () => {
    await page.getByRole("button", { name: "Remove west" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Remove", exact: true }).click();
  };
  await remove();
  await page.getByRole("alert").getByText("move or erase them first").waitFor();
  await accessible(page);
  await call(operator, "TenantService/DeleteTenant", { tenantId, erase: true });
  const isGone = () => Promise.race([ // the removal ends in one way or the other
    page.getByRole("button", { name: "Remove west", includeHidden: true }).waitFor({ state: "detached" }).then(() => true),
    page.getByRole("alert").waitFor().then(() => false),
  ]);
  do { // until tenants of other tests, which may have been placed there, are gone too
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await remove();
  } while (!await isGone());
});

test("a key of a tenant does not see databases", async (t) => {
  const tenant = await newTenant();
  const page = await openPage(t, { key: tenant.secret, path: "/databases" });
  await page.getByRole("heading", { name: "Only the operator sees databases" }).waitFor();
});
