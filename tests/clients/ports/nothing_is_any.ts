// Compiled with the generated types of a port: no answer and no variables have a member of the type any, however deep.
import type { DocumentTypeDecoration } from "@graphql-typed-document-node/core";
import * as operations from "./operations";

type IsAny<T> = 0 extends 1 & T ? true : false;
type HasAny<T> =
  IsAny<T> extends true ? true
  : T extends readonly (infer Item)[] ? HasAny<Item>
  : T extends object ? true extends { [Name in keyof T]-?: HasAny<T[Name]> }[keyof T] ? true : false
  : false;
type Operations = typeof operations;
type Untyped = {
  [Name in keyof Operations]: Operations[Name] extends DocumentTypeDecoration<infer Answer, infer Variables>
    ? true extends HasAny<Answer> | HasAny<Variables> ? Name : never
    : Name;
}[keyof Operations];

export const untyped: [Untyped] extends [never] ? "none" : Untyped = "none";
// The check sees what it looks for.
export const seen: [HasAny<{ lines: { price: any }[] | null }>, HasAny<{ lines: { price: number }[] | null }>] = [true, false];
