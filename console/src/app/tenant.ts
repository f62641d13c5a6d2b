const key = "ragd.tenant";

/** chosenTenant returns the tenant that an operator works on in this tab, or "". */
export function chosenTenant(): string {
  return window.sessionStorage.getItem(key) ?? "";
}

/** chooseTenant makes all following calls of this tab name a tenant; "" names none. */
export function chooseTenant(tenantId: string) {
  if (tenantId) window.sessionStorage.setItem(key, tenantId);
  else window.sessionStorage.removeItem(key);
}
