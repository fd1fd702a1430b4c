// Export and import of a list. An export is of all records that the filters leave.
import Download from "@mui/icons-material/FileDownloadOutlined";
import Upload from "@mui/icons-material/FileUploadOutlined";
import Button from "@mui/material/Button";
import { useListContext, useTranslate } from "ra-core";
import { useState } from "react";
import { Link, useNavigate } from "react-router-dom";
import { canImport } from "../../bulk/import";
import { startExport } from "../../bulk/export";
import { mayDo, mayRead } from "../../data/permissions";
import { useNotifyError } from "../../derived/form";
import type { Entity } from "../../entities/types";

export default function BulkButtons({ entity }: { entity: Entity }) {
  const translate = useTranslate();
  const navigate = useNavigate();
  const notifyError = useNotifyError();
  const { filterValues, sort, total = 0 } = useListContext();
  const [isBusy, setBusy] = useState(false);
  const start = async () => {
    setBusy(true);
    try {
      await navigate(`/bulk_operation/${await startExport(entity, { filter: filterValues as Record<string, unknown>, sort, total })}`);
    } catch (error) {
      notifyError(error);
      setBusy(false);
    }
  };
  return (
    <>
      {mayDo("bulk_query_create") && mayRead(`${entity.name}_connection`) && <Button size="small" startIcon={<Download />} disabled={isBusy} onClick={() => void start()}>{translate("ra.action.export")}</Button>}
      {canImport(entity) && <Button size="small" startIcon={<Upload />} component={Link} to={`/import/${entity.name}`}>{translate("import.button")}</Button>}
    </>
  );
}
