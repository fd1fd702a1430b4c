// HTML that the editor can express: what it can't, such as tables and classes, would be lost when a text is changed there.
import { generateHTML, generateJSON } from "@tiptap/core";
import Image from "@tiptap/extension-image";
import StarterKit from "@tiptap/starter-kit";

export const EXTENSIONS = [
  StarterKit.configure({ trailingNode: false, link: { openOnClick: false, HTMLAttributes: { target: null, rel: null, class: null } } }),
  Image.configure({ inline: true }),
];

const NAMES: Readonly<Record<string, string>> = { b: "strong", i: "em" };
const BLOCK = /^(P|H[1-6]|UL|OL|LI|BLOCKQUOTE|PRE|HR|DIV|TABLE|SECTION|ARTICLE|FIGURE|IFRAME|VIDEO|DL|CENTER)$/;
// What holds paragraphs, also where none are written.
const CONTAINER = /^(BODY|LI|BLOCKQUOTE)$/;
const AROUND_BLOCKS = / *(<\/?(?:p|h[1-6]|ul|ol|li|blockquote|pre|hr|br)(?: [^>]*)?>) */g;

// A script or style at the beginning would be the head's.
const parsed = (html: string) => new DOMParser().parseFromString(`<body>${html}`, "text/html").body;

// The HTML of the editor, whose items of lists hold a paragraph each.
export function written(html: string): string {
  const body = parsed(html);
  for (const paragraph of body.querySelectorAll("li > p:first-child")) {
    const [, ...others] = paragraph.parentElement?.children ?? [];
    if (others.every((each) => /^[UO]L$/.test(each.tagName))) paragraph.replaceWith(...paragraph.childNodes);
  }
  return body.innerHTML;
}

export function isExpressible(html: string): boolean {
  return html.trim() === "" || meaning(html) === meaning(generateHTML(generateJSON(html, EXTENSIONS), EXTENSIONS));
}

// The same text for HTML that browsers show alike.
function meaning(html: string): string {
  return inner(parsed(html)).replace(/ ((?:<[^>]*>)+) /g, " $1").replace(AROUND_BLOCKS, "$1");
}

function inner(element: Element): string {
  if (!CONTAINER.test(element.tagName)) return [...element.childNodes].map(outer).join("");
  const parts: string[] = [];
  let line = "";
  const endLine = () => {
    if (line.trim()) parts.push(`<p>${line.trim()}</p>`);
    line = "";
  };
  for (const node of element.childNodes) {
    if (node instanceof Element && BLOCK.test(node.tagName)) {
      endLine();
      parts.push(outer(node));
    } else line += outer(node);
  }
  endLine();
  return parts.join("");
}

function outer(node: Node): string {
  if (node.nodeType === Node.TEXT_NODE) return escaped(node.parentElement?.closest("pre") ? node.textContent : node.textContent?.replace(/[ \t\r\n\f]+/g, " "));
  if (!(node instanceof Element)) return `<!--${escaped(node.textContent)}-->`;
  const name = NAMES[node.localName] ?? node.localName;
  const attributes = [...node.attributes].map((each) => ` ${each.name}="${escaped(each.value)}"`).toSorted().join("");
  return `<${name}${attributes}>${inner(node)}</${name}>`;
}

const escaped = (text: string | null | undefined) => (text ?? "").replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
