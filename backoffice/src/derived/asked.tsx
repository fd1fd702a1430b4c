// What is done only after it was asked for once more, such as a deletion. `children` is the button.
import { Confirm } from "ra-ui-materialui";
import { type ReactNode, useState } from "react";

interface Props {
  title: string;
  onConfirm: () => void;
  children: (ask: () => void) => ReactNode;
}

export function Asked({ title, onConfirm, children }: Props) {
  const [isAsked, setAsked] = useState(false);
  const confirm = () => {
    setAsked(false);
    onConfirm();
  };
  return (
    <>
      {children(() => setAsked(true))}
      <Confirm isOpen={isAsked} title={title} content="ra.message.are_you_sure" onConfirm={confirm} onClose={() => setAsked(false)} />
    </>
  );
}
