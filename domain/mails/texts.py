"""The texts of mails, in Portuguese, for the customers and staff of a store (docs/reference/shared.md#text)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum


class MailType(StrEnum):
    """The types of mails."""

    EMAIL_VERIFICATION = "email_verification"
    PASSWORD_RESET = "password_reset"
    REGISTRATION_TAKEN = "registration_taken"
    PASSWORD_CHANGED = "password_changed"
    EMAIL_CHANGE = "email_change"
    EMAIL_CHANGE_REQUESTED = "email_change_requested"
    EMAIL_CHANGE_TAKEN = "email_change_taken"
    EMAIL_CHANGED = "email_changed"
    ACCOUNT_DELETION = "account_deletion"
    ACCOUNT_APPROVED = "account_approved"
    TWO_FACTOR_ON = "two_factor_on"
    TWO_FACTOR_OFF = "two_factor_off"
    ORDER_PLACED = "order_placed"
    ORDER_PAID = "order_paid"
    ORDER_SHIPPED = "order_shipped"
    ORDER_COMPLETE = "order_complete"
    ORDER_CANCELLED = "order_cancelled"
    ORDER_REFUNDED = "order_refunded"
    ORDER_PAYMENT_FAILED = "order_payment_failed"
    ORDER_PAYMENT_PENDING = "order_payment_pending"
    ORDER_STATUS = "order_status"
    COUPON = "coupon"
    NEWSLETTER_CONFIRM = "newsletter_confirm"
    NEWSLETTER_CANCEL = "newsletter_cancel"
    STOCK_NOTICE_CONFIRM = "stock_notice_confirm"
    STOCK_NOTICE = "stock_notice"


@dataclass(frozen=True, slots=True)
class MailTemplate:
    """The text of a mail; `{store}` and `{name}` are filled in, `{token}` where there is one, and what it is about: `{number}` of an order
    and what `domain.mails.order_mails` says of it, `{code}` of a coupon.

    A line that is indented by four spaces belongs to a block (`domain.mails.html`); paragraphs that are empty are left out. A mail that was
    not sent within its `lifetime` is discarded.
    """

    subject: str
    body: str
    lifetime: timedelta = timedelta(days=3)


TEMPLATES: Mapping[MailType, MailTemplate] = {
    MailType.EMAIL_VERIFICATION: MailTemplate(
        "Confirme o seu e-mail em {store}",
        """Olá, {name}!

Falta só um passo para a sua conta em {store}: confirmar que este e-mail é seu.

{token}

O código vale por 24 horas e só uma vez. Se você não criou esta conta, ignore esta mensagem.
""",
        timedelta(hours=24),
    ),
    MailType.PASSWORD_RESET: MailTemplate(
        "Nova senha para a sua conta em {store}",
        """Olá, {name}!

Alguém pediu uma nova senha para a sua conta em {store}. Se foi você, use:

{token}

O código vale por uma hora e só uma vez. Se não foi você, não precisa fazer nada: a sua senha continua a mesma.
""",
        timedelta(hours=1),
    ),
    MailType.REGISTRATION_TAKEN: MailTemplate(
        "Você já tem uma conta em {store}",
        """Olá, {name}!

Alguém tentou criar uma conta em {store} com este e-mail, mas ele já pertence à sua. Nada mudou.

Se foi você e a senha ficou para trás, peça uma nova na página de entrada. Se não foi você, ignore esta mensagem.
""",
    ),
    MailType.PASSWORD_CHANGED: MailTemplate(
        "A sua senha em {store} foi trocada",
        """Olá, {name}!

A senha da sua conta em {store} acaba de ser trocada, e os outros aparelhos foram desconectados.

Se não foi você, peça já uma nova senha na página de entrada e fale com a loja.
""",
    ),
    MailType.EMAIL_CHANGE: MailTemplate(
        "Confirme o seu novo e-mail em {store}",
        """Olá, {name}!

Para que este passe a ser o e-mail da sua conta em {store}, confirme que ele é seu:

{token}

O código vale por 24 horas e só uma vez. Se você não pediu a troca, ignore esta mensagem.
""",
        timedelta(hours=24),
    ),
    MailType.EMAIL_CHANGE_REQUESTED: MailTemplate(
        "Pedido de troca de e-mail em {store}",
        """Olá, {name}!

Alguém que sabe a sua senha pediu para trocar o e-mail da sua conta em {store}. Ele muda quando o novo endereço for confirmado.

Se não foi você, troque a sua senha agora, o que cancela o pedido, e fale com a loja.
""",
    ),
    MailType.EMAIL_CHANGE_TAKEN: MailTemplate(
        "O seu e-mail já tem uma conta em {store}",
        """Olá, {name}!

Alguém tentou usar este e-mail em outra conta em {store}, mas ele já pertence à sua. Nada mudou.

Se não foi você, ignore esta mensagem.
""",
    ),
    MailType.EMAIL_CHANGED: MailTemplate(
        "O e-mail da sua conta em {store} foi trocado",
        """Olá, {name}!

O e-mail da sua conta em {store} acaba de ser trocado, e este endereço já não pertence a ela.

Se não foi você, fale com a loja.
""",
    ),
    MailType.ACCOUNT_DELETION: MailTemplate(
        "Confirme a exclusão da sua conta em {store}",
        """Olá, {name}!

Alguém pediu para excluir a sua conta em {store}. Se foi você, confirme com:

{token}

O código vale por uma hora e só uma vez. Se não foi você, troque a sua senha agora.
""",
        timedelta(hours=1),
    ),
    MailType.ACCOUNT_APPROVED: MailTemplate(
        "A sua conta em {store} foi aprovada",
        """Olá, {name}!

A sua conta em {store} foi aprovada. Você já pode entrar com o seu e-mail e a sua senha.
""",
    ),
    MailType.TWO_FACTOR_ON: MailTemplate(
        "Verificação em duas etapas ativada em {store}",
        """Olá, {name}!

A partir de agora, entrar na sua conta em {store} pede também um código do seu aplicativo autenticador.

Guarde os códigos de recuperação em lugar seguro. Se não foi você, fale com a loja.
""",
    ),
    MailType.TWO_FACTOR_OFF: MailTemplate(
        "Verificação em duas etapas desativada em {store}",
        """Olá, {name}!

Entrar na sua conta em {store} já não pede um código do aplicativo autenticador.

Se não foi você, troque a sua senha agora e fale com a loja.
""",
    ),
    MailType.ORDER_PLACED: MailTemplate(
        "Recebemos o seu pedido {number} em {store}",
        """Olá, {name}!

Recebemos o seu pedido {number} em {store}. Obrigado pela compra!

{lines}

{totals}

{payment}

{delivery}

{link}

{contact}
""",
    ),
    MailType.ORDER_PAID: MailTemplate(
        "Pagamento confirmado: pedido {number} em {store}",
        """Olá, {name}!

O pagamento do seu pedido {number} em {store} foi confirmado. O total é de {total}.

Avisaremos dos próximos passos.

{link}

{contact}
""",
    ),
    MailType.ORDER_SHIPPED: MailTemplate(
        "{what} {number} em {store} está a caminho",
        """Olá, {name}!

{what} {number} em {store} está a caminho:

{lines}

{tracking}

{remaining}

{link}

{contact}
""",
    ),
    MailType.ORDER_COMPLETE: MailTemplate(
        "O seu pedido {number} em {store} foi concluído",
        """Olá, {name}!

O seu pedido {number} em {store} foi concluído. Esperamos que você goste!

Se ele ainda não chegou, ou se algo não estiver certo, fale com a loja.

{link}

{contact}
""",
    ),
    MailType.ORDER_CANCELLED: MailTemplate(
        "O seu pedido {number} em {store} foi cancelado",
        """Olá, {name}!

O seu pedido {number} em {store} foi cancelado.

{paid}

{link}

{contact}
""",
    ),
    MailType.ORDER_REFUNDED: MailTemplate(
        "Reembolso do seu pedido {number} em {store}",
        """Olá, {name}!

Devolvemos {amount} do seu pedido {number} em {store}.

O prazo para o valor aparecer depende da sua forma de pagamento.

{link}

{contact}
""",
    ),
    MailType.ORDER_PAYMENT_FAILED: MailTemplate(
        "O pagamento do seu pedido {number} em {store} não foi concluído",
        """Olá, {name}!

O pagamento do seu pedido {number} em {store} foi recusado ou não chegou a tempo, e os produtos deixaram de ficar reservados para você.

Se ainda quiser comprar, fale com a loja ou faça um novo pedido.

{link}

{contact}
""",
    ),
    MailType.ORDER_PAYMENT_PENDING: MailTemplate(
        "Como pagar o seu pedido {number} em {store}",
        """Olá, {name}!

Falta o pagamento de {amount} do seu pedido {number} em {store}. {how}

{code}

{link}

{contact}
""",
    ),
    MailType.ORDER_STATUS: MailTemplate(
        "O seu pedido {number} em {store}: {status}",
        """Olá, {name}!

A situação do seu pedido {number} em {store} agora é:

    {status}

{link}

{contact}
""",
    ),
    MailType.COUPON: MailTemplate(
        "Um cupom para a sua próxima compra em {store}",
        """Olá, {name}!

Com o seu pedido {number} em {store} você ganhou um cupom para a próxima compra:

    {code}

Ele vale uma única vez. Informe o código ao fechar o carrinho.
""",
    ),
    MailType.NEWSLETTER_CONFIRM: MailTemplate(
        "Confirme a sua inscrição nas novidades de {store}",
        """Olá!

Alguém pediu para este e-mail receber as novidades de {store}. Se foi você, confirme com:

{token}

O código vale por 48 horas. Se não foi você, ignore esta mensagem: sem a confirmação, nada será enviado.
""",
        timedelta(hours=48),
    ),
    MailType.NEWSLETTER_CANCEL: MailTemplate(
        "Inscrição confirmada nas novidades de {store}",
        """Olá!

A partir de agora, este e-mail recebe as novidades de {store}.

Para deixar de receber, a qualquer momento, use:

{token}

Guarde esta mensagem.
""",
    ),
    MailType.STOCK_NOTICE_CONFIRM: MailTemplate(
        "Confirme o seu aviso de {store}",
        """Olá!

Alguém pediu para este e-mail ser avisado quando este produto voltar a {store}:

    {product}

Se foi você, confirme com:

{token}

O código vale por 48 horas, e depois dele também cancela o aviso. Se não foi você, ignore esta mensagem: nada será enviado.
""",
        timedelta(hours=48),
    ),
    MailType.STOCK_NOTICE: MailTemplate(
        "De volta em {store}: {product}",
        """Olá!

O produto que você esperava já pode ser comprado em {store}:

    {product}

Este aviso é enviado uma só vez. As unidades não ficam reservadas.
""",
    ),
}


_MAX_NAME, _MAX_TEXT = 40, 255
# What mail programs turn into a link: a scheme, a path, an e-mail, or a dot before two letters or digits (IDNA has four dots).
_LINK = re.compile(r"://|[/\\@]|[.\u3002\uff0e\uff61]\w{2}")


_LINKED = re.compile(r"://(?=\S)|[@.\u3002\uff0e\uff61](?=[^\W\d_]{2})")
_EMPTY_LINES = re.compile(r"\n{3,}")


def printable_name(name: str) -> str:
    """Return a name as mails print it: one line of at most 40 characters without links, perhaps empty.

    Anybody can register with any name and another person's address, so that the store would send that person the text.
    """
    words = [word for word in one_line(name).split() if not _LINK.search(unicodedata.normalize("NFKC", word))]
    return " ".join(words)[:_MAX_NAME].rstrip()


def printable_text(text: str) -> str:
    """Return what a customer wrote, such as a street, as mails print it: as `one_line`, and nothing in it is a link."""
    return _LINKED.sub(r"\g<0> ", one_line(text))


def one_line(text: str) -> str:
    """Return a text on one line of at most 255 characters, without control characters and repeated spaces."""
    visible = "".join(
        " " if character.isspace() else character
        for character in text
        if character.isspace() or not unicodedata.category(character).startswith("C")
    )
    return " ".join(visible.split())[:_MAX_TEXT].rstrip()


def render_mail(mail_type: MailType, values: Mapping[str, str]) -> tuple[str, str]:
    """Return the subject, as one line, and the body of a mail."""
    template = TEMPLATES[mail_type]
    subject = " ".join(template.subject.format_map(values).split())
    return subject, _EMPTY_LINES.sub("\n\n", template.body.format_map(values)).rstrip() + "\n"
