// A picture in the size that the screen needs, with a blurred placeholder while it loads. It takes its place before it is there.

import { decode } from "blurhash";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

export interface Image {
  url: string;
  srcset?: string | null;
  alt: string;
  width?: number;
  height?: number;
  blurhash?: string | null;
}

// How wide a picture is shown, as the attribute `sizes`; the grids of styles.css.
export const SIZES = {
  card: "(min-width: 75rem) 277px, (min-width: 60rem) 23vw, (min-width: 40rem) 31vw, 46vw",
  product: "(min-width: 75rem) 576px, (min-width: 60rem) 48vw, (min-width: 40rem) 576px, 94vw",
  hero: "(min-width: 75rem) 1168px, 96vw",
  tile: "(min-width: 40rem) 110px, 29vw",
  small: "88px",
  logo: "44px",
};

interface PictureProps {
  image?: Image | null;
  name: string;
  sizes: keyof typeof SIZES;
  isFirst?: boolean;
}

/** A picture; an image that is missing or can't be loaded is replaced by the initials of what it shows. Without a name it is decoration. */
export function Picture({ image, name, sizes, isFirst = false }: PictureProps) {
  const [failed, setFailed] = useState<string>();
  const [loaded, setLoaded] = useState<string>();
  if (!image || failed === image.url) {
    const label = image?.alt || name;
    const initials = name.split(/\s+/, 2).map((word) => word[0]);
    return (
      <span class="picture initials" role={label ? "img" : "presentation"} aria-label={label || undefined}>
        {initials}
      </span>
    );
  }
  return (
    <span class="picture">
      {image.blurhash && loaded !== image.url && <Placeholder hash={image.blurhash} />}
      <img
        key={image.url}
        src={image.url}
        srcset={image.srcset ?? undefined}
        sizes={image.srcset ? SIZES[sizes] : undefined}
        alt={image.alt || name}
        width={image.width || 800}
        height={image.height || 800}
        loading={isFirst ? "eager" : "lazy"}
        fetchpriority={isFirst ? "high" : undefined}
        decoding="async"
        onLoad={(event) => void event.currentTarget.decode().catch(() => undefined).then(() => setLoaded(image.url))}
        onError={() => setFailed(image.url)}
      />
    </span>
  );
}

const SIDE = 24;
// Less contrast than the hash has: a dark object would get bright edges.
const PUNCH = 0.7;

function Placeholder({ hash }: { hash: string }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useLayoutEffect(() => {
    const context = canvas.current!.getContext("2d")!;
    const pixels = context.createImageData(SIDE, SIDE);
    pixels.data.set(decode(hash, SIDE, SIDE, PUNCH));
    context.putImageData(pixels, 0, 0);
  }, [hash]);
  return <canvas ref={canvas} width={SIDE} height={SIDE} aria-hidden="true" />;
}
