// Resolve the references of one operation. Swagger UI's own resolver processes the whole document for each operation, which takes seconds.

/** Return what a local reference (`#/components/schemas/Order`) refers to. */
function target(document, reference) {
  const steps = reference.slice(2).split("/");
  return steps.reduce((value, step) => value?.[step.replaceAll("~1", "/").replaceAll("~0", "~")], document);
}

/** Return the value with its local references replaced; one within itself stays. */
function resolved(document, value, within) {
  if (Array.isArray(value)) return value.map((item) => resolved(document, item, within));
  if (value === null || typeof value !== "object") return value;
  const { $ref: reference, ...others } = value;
  if (typeof reference === "string" && reference.startsWith("#/") && !within.includes(reference)) {
    const referred = resolved(document, target(document, reference), [...within, reference]);
    const title = reference.startsWith("#/components/schemas/") ? { title: reference.split("/").pop() } : {};
    return { ...title, ...referred, ...others };
  }
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, resolved(document, member, within)]));
}

/** Shorten the responses that operations share, a dozen in each, to their descriptions; the first one shows what their bodies are. */
function abridged(document, { responses, ...operation }) {
  const shared = Object.keys(responses).filter((status) => responses[status].$ref).slice(1);
  const short = shared.map((status) => [status, { description: target(document, responses[status].$ref).description }]);
  return { ...operation, responses: { ...responses, ...Object.fromEntries(short) } };
}

/** The plugin of Swagger UI that replaces its resolver. */
export const ResolveLocally = () => ({
  fn: {
    resolveSubtree: async (document, path) => {
      const found = path.reduce((value, step) => value?.[step], document);
      const part = found?.responses ? abridged(document, found) : found;
      return { spec: resolved(document, part, []), errors: [] };
    },
  },
});
