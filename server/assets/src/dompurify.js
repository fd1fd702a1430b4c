// In place of the copy in the source of monaco-editor, with the same exports (build.py: replace_vendored).
import purify from "dompurify";

export default purify;
export const { version, isSupported, sanitize, setConfig, clearConfig, isValidAttribute } = purify;
export const { addHook, removeHook, removeHooks, removeAllHooks } = purify;
